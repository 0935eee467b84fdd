#include "helpers/trace/otlp.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>

#include "base/bytes.hpp"

namespace latchkey::trace {
namespace {

namespace json = boost::json;

constexpr int server_kind = 2;   // SPAN_KIND_SERVER
constexpr int error_status = 2;  // STATUS_CODE_ERROR

template <std::size_t size>
std::string hex(std::array<std::uint8_t, size> const& bytes) {
    return base::to_hex({reinterpret_cast<char const*>(bytes.data()), bytes.size()});
}

class attributes {
  public:
    void add(std::string_view key, std::string_view value) {
        if (!value.empty()) put(key, {{"stringValue", value}});
    }
    void add(std::string_view key, std::uint64_t value) {
        put(key, {{"intValue", std::to_string(value)}});
    }
    json::array take() { return std::move(list_); }

  private:
    void put(std::string_view key, json::object value) {
        list_.push_back({{"key", key}, {"value", std::move(value)}});
    }
    json::array list_;
};

// A low-cardinality name, as the conventions demand: "GET /api/v1/users/{id}", or the method alone.
std::string name_of(trace::protocol::span const& span) {
    std::string name(span.method == "_OTHER" ? "HTTP" : span.method);
    return span.route.empty() ? name : name + " " + std::string(span.route);
}

json::array attributes_of(trace::protocol::span const& span,
                          trace::protocol::settings const& settings) {
    attributes all;
    all.add("http.request.method", span.method);
    all.add("http.route", span.route);
    // Templated: the path itself has ids of users, and whatever else clients write there.
    all.add("url.path", span.route);
    all.add("url.scheme", span.tls ? "https" : "http");
    all.add("http.response.status_code", std::uint64_t{span.status});
    if (span.status >= 500) all.add("error.type", std::to_string(span.status));
    all.add("network.protocol.version", span.protocol_version);
    auto const& address = span.tls ? settings.tls : settings.plain;
    all.add("server.address", address.host);
    if (address.port != 0) all.add("server.port", std::uint64_t{address.port});
    if (span.key_id != 0) all.add("latchkey.key.id", span.key_id);
    all.add("latchkey.request.id", span.request_id());
    return all.take();
}

}  // namespace

json::object make_span(trace::protocol::span const& span,
                       trace::protocol::settings const& settings) {
    json::object object;
    object["traceId"] = hex(span.trace_id);
    object["spanId"] = hex(span.span_id);
    if (std::ranges::any_of(span.parent_id, [](auto byte) { return byte != 0; }))
        object["parentSpanId"] = hex(span.parent_id);
    object["name"] = name_of(span);
    object["kind"] = server_kind;
    object["startTimeUnixNano"] = std::to_string(span.start_ns);
    object["endTimeUnixNano"] = std::to_string(span.end_ns);
    object["attributes"] = attributes_of(span, settings);
    if (span.status >= 500) object["status"] = {{"code", error_status}};
    return object;
}

std::string make_request(json::array const& spans, trace::protocol::settings const& settings) {
    attributes resource;
    resource.add("service.name", settings.service_name);
    resource.add("service.version", settings.service_version);
    resource.add("service.instance.id", settings.instance_id);
    json::object const scope{{"name", "latchkey"}, {"version", settings.service_version}};
    json::object const scope_spans{{"scope", scope}, {"spans", spans}};
    json::object const resource_spans{{"resource", {{"attributes", resource.take()}}},
                                      {"scopeSpans", json::array{scope_spans}}};
    return json::serialize(json::object{{"resourceSpans", json::array{resource_spans}}});
}

std::uint64_t rejected_spans(std::string_view response) {
    boost::system::error_code failure;
    auto const document = json::parse(response, failure);
    if (failure || !document.is_object()) return 0;
    auto const* const partial = document.as_object().if_contains("partialSuccess");
    if (partial == nullptr || !partial->is_object()) return 0;
    auto const* const count = partial->as_object().if_contains("rejectedSpans");
    if (count == nullptr) return 0;
    if (count->is_int64())
        return static_cast<std::uint64_t>(std::max<std::int64_t>(count->as_int64(), 0));
    if (!count->is_string()) return 0;
    std::uint64_t number = 0;
    auto const& text = count->as_string();
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace latchkey::trace
