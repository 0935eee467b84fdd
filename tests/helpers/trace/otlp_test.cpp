#include "helpers/trace/otlp.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>

namespace latchkey::trace {
namespace {

namespace json = boost::json;

trace::protocol::settings const settings{.endpoint = "http://127.0.0.1:4318/v1/traces",
                                         .fields = {},
                                         .service_name = "keys",
                                         .service_version = "1.2.3",
                                         .instance_id = "host/7",
                                         .plain = {"127.0.0.1", 8080},
                                         .tls = {"api.example.com", 443}};

trace::protocol::span sample_span() {
    trace::protocol::span span;
    span.trace_id.fill(0xab);
    span.span_id.fill(0x01);
    span.start_ns = 1'700'000'000'000'000'001;
    span.end_ns = 1'700'000'000'123'456'789;
    span.key_id = 42;
    span.method = "GET";
    span.route = "/api/v1/users/{id}";
    span.protocol_version = "2";
    span.set_request_id("req_abcdefgh");
    span.tls = true;
    span.status = 200;
    return span;
}

std::map<std::string, std::string> attributes_of(json::value const& holder) {
    std::map<std::string, std::string> all;
    for (auto const& each : holder.at("attributes").as_array())
        all[std::string(each.at("key").as_string())] = json::serialize(each.at("value"));
    return all;
}

TEST(otlp, has_a_span_with_the_attributes_of_the_conventions) {
    json::value const span = make_span(sample_span(), settings);
    EXPECT_EQ(span.at("traceId").as_string(), std::string(32, 'x').replace(0, 32,
                                                                           "abababababababab"
                                                                           "abababababababab"));
    EXPECT_EQ(span.at("spanId").as_string(), "0101010101010101");
    EXPECT_FALSE(span.as_object().contains("parentSpanId"));
    EXPECT_EQ(span.at("name").as_string(), "GET /api/v1/users/{id}");
    EXPECT_EQ(span.at("kind"), 2);
    EXPECT_EQ(span.at("startTimeUnixNano").as_string(), "1700000000000000001");
    EXPECT_EQ(span.at("endTimeUnixNano").as_string(), "1700000000123456789");
    EXPECT_FALSE(span.as_object().contains("status"));
    std::map<std::string, std::string> const expected{
        {"http.request.method", R"({"stringValue":"GET"})"},
        {"http.route", R"({"stringValue":"/api/v1/users/{id}"})"},
        {"url.path", R"({"stringValue":"/api/v1/users/{id}"})"},
        {"url.scheme", R"({"stringValue":"https"})"},
        {"http.response.status_code", R"({"intValue":"200"})"},
        {"network.protocol.version", R"({"stringValue":"2"})"},
        {"server.address", R"({"stringValue":"api.example.com"})"},
        {"server.port", R"({"intValue":"443"})"},
        {"latchkey.key.id", R"({"intValue":"42"})"},
        {"latchkey.request.id", R"({"stringValue":"req_abcdefgh"})"}};
    EXPECT_EQ(attributes_of(span), expected);
}

TEST(otlp, names_the_parent_an_error_and_what_has_no_route) {
    auto source = sample_span();
    source.parent_id.fill(0xcd);
    source.status = 503;
    source.route = {};
    source.key_id = 0;
    source.tls = false;
    json::value const span = make_span(source, settings);
    EXPECT_EQ(span.at("parentSpanId").as_string(), "cdcdcdcdcdcdcdcd");
    EXPECT_EQ(span.at("name").as_string(), "GET");
    EXPECT_EQ(span.at("status").at("code"), 2);
    auto const attributes = attributes_of(span);
    EXPECT_EQ(attributes.at("error.type"), R"({"stringValue":"503"})");
    EXPECT_EQ(attributes.at("server.port"), R"({"intValue":"8080"})");
    for (auto const* name : {"http.route", "url.path", "latchkey.key.id"})
        EXPECT_FALSE(attributes.contains(name)) << name;
    source.method = "_OTHER";
    EXPECT_EQ(make_span(source, settings).at("name").as_string(), "HTTP");
    source.status = 404;
    EXPECT_FALSE(make_span(source, settings).contains("status")) << "an error of the client";
}

TEST(otlp, puts_spans_of_one_resource_and_scope_into_a_request) {
    json::array const spans{make_span(sample_span(), settings), make_span(sample_span(), settings)};
    auto const request = json::parse(make_request(spans, settings));
    auto const& resource_spans = request.at("resourceSpans").as_array();
    ASSERT_EQ(resource_spans.size(), 1u);
    auto const resource = attributes_of(resource_spans[0].at("resource"));
    EXPECT_EQ(resource.at("service.name"), R"({"stringValue":"keys"})");
    EXPECT_EQ(resource.at("service.version"), R"({"stringValue":"1.2.3"})");
    auto const& scope_spans = resource_spans[0].at("scopeSpans").as_array();
    ASSERT_EQ(scope_spans.size(), 1u);
    EXPECT_EQ(scope_spans[0].at("scope").at("name").as_string(), "latchkey");
    EXPECT_EQ(scope_spans[0].at("spans").as_array().size(), 2u);
}

TEST(otlp, reads_how_many_spans_were_rejected) {
    EXPECT_EQ(rejected_spans(R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"x"}})"), 3u);
    EXPECT_EQ(rejected_spans(R"({"partialSuccess":{"rejectedSpans":2}})"), 2u);
    for (auto const* response : {"", "{}", "[]", "x", R"({"partialSuccess":{}})",
                                 R"({"partialSuccess":{"rejectedSpans":-1}})",
                                 R"({"partialSuccess":{"rejectedSpans":"x"}})"})
        EXPECT_EQ(rejected_spans(response), 0u) << response;
}

}  // namespace
}  // namespace latchkey::trace
