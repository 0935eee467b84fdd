// GET /service: how the whole process does (api.md §18).
#include "api/frame/json/json_writer.hpp"
#include "api/frame/request_services.hpp"
#include "api/frame/resource.hpp"
#include "api/service/service_routes.hpp"
#include "base/version.hpp"

namespace latchkey::api {
namespace {

void append_seconds(std::string& output, std::uint64_t nanoseconds) {
    constexpr std::uint64_t billion = 1'000'000'000;
    append_number(output, nanoseconds / billion);
    auto digits = std::to_string(billion + nanoseconds % billion);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.size() > 1) output.append(".").append(digits, 1);
}

void append_durations(std::string& output, service_report const& report) {
    append_name(output, "latency");
    output.append("{\"count\":");
    append_number(output, report.duration_count);
    append_name(output, "sum_seconds");
    append_seconds(output, report.duration_sum_ns);
    append_name(output, "buckets");
    output.push_back('[');
    for (auto const& bucket : report.durations) {
        output.append("{\"le\":");
        append_seconds(output, bucket.bound_ns);
        append_name(output, "count");
        append_number(output, bucket.count);
        output.append("},");
    }
    output.append("{\"le\":null,\"count\":");
    append_number(output, report.duration_count);
    output.append("}]}");
}

void append_node(std::string& output, service_report::node const& node) {
    output.append("{\"name\":");
    append_string(output, node.name);
    append_name(output, "is_self");
    output.append(node.is_self ? "true" : "false");
    append_name(output, "is_alive");
    output.append(node.is_alive ? "true" : "false");
    append_name(output, "lag_rows");
    append_number(output, node.lag_rows);
    append_name(output, "version");
    append_string(output, node.version);
    output.push_back('}');
}

}  // namespace

std::optional<api_error> get_service(request_context const& context, request_services& services,
                                     http::response& response) {
    if (auto error = context.query.refuse_rest()) return error;
    auto const report = services.report == nullptr ? service_report() : (*services.report)();
    auto& output = response.body;
    output.append("{\"version\":\"" LATCHKEY_VERSION "\",\"started_at\":");
    append_timestamp(output, report.started_at);
    append_name(output, "requests");
    for (std::size_t i = 0; i < report.requests.size(); ++i) {
        output.push_back(i == 0 ? '{' : ',');
        append_plain_string(output, model::usage::classes[i]);
        output.push_back(':');
        append_number(output, report.requests[i]);
    }
    output.push_back('}');
    for (auto const& [name, value] :
         {std::pair{"limited", report.limited},
          std::pair{"failed_authentications", report.failed_authentications},
          std::pair{"connections", report.connections}, std::pair{"streams", report.streams}}) {
        append_name(output, name);
        append_number(output, value);
    }
    append_durations(output, report);
    append_name(output, "nodes");
    append_array(output, report.nodes,
                 [&](service_report::node const& node) { append_node(output, node); });
    output.push_back('}');
    show_written(response);
    return std::nullopt;
}

}  // namespace latchkey::api
