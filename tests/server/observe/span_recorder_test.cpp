#include "server/observe/span_recorder.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "server/process/trace_checks.hpp"
#include "server/process/trace_settings.hpp"

namespace latchkey::server {
namespace {

TEST(span_recorder, has_a_ring_where_it_is_on) {
    auto recorder = span_recorder::off();
    recorder.sample(1);
    EXPECT_FALSE(recorder.is_on());
    EXPECT_EQ(recorder.ring(), nullptr);
    EXPECT_TRUE(span_recorder::on().is_on());
    EXPECT_NE(span_recorder::on().ring(), nullptr);
}

// A request of which nothing is known: without a traceparent the ratio decides.
std::size_t sampled_count(double ratio, std::size_t requests) {
    auto recorder = span_recorder::on();
    recorder.sample(ratio);
    api::exchange const exchange;
    session::log_entry entry;
    for (std::size_t i = 0; i < requests; ++i) recorder.record(entry, exchange, {}, 1000);
    return recorder.ring()->take(requests, [](trace::protocol::span const& each) {
        EXPECT_EQ(each.end_ns - each.start_ns, 1000u);
        EXPECT_NE(each.trace_id, decltype(each.trace_id){});
        EXPECT_NE(each.span_id, decltype(each.span_id){});
        EXPECT_EQ(each.parent_id, decltype(each.parent_id){});
    });
}

TEST(span_recorder, samples_by_its_ratio) {
    EXPECT_EQ(sampled_count(0, 2000), 0u);
    EXPECT_EQ(sampled_count(1, 2000), 2000u);
    EXPECT_NEAR(static_cast<double>(sampled_count(0.5, 4000)), 2000, 200);
    EXPECT_NEAR(static_cast<double>(sampled_count(0.01, 4000)), 40, 35);
}

TEST(trace_settings, takes_header_fields_line_by_line) {
    auto const fields =
        parse_header_fields("# secret\n\nAuthorization:  Bearer a b \r\nX-Tenant: 7");
    ASSERT_TRUE(fields) << fields.error().message;
    EXPECT_EQ(*fields, (std::vector<trace::protocol::field>{{"Authorization", "Bearer a b"},
                                                            {"X-Tenant", "7"}}));
    EXPECT_TRUE(parse_header_fields("")->empty());
    for (auto const* text : {"A: b\nsecret", "A: b\n: secret", "A: b\nB c: secret", "A: b\nC:",
                             "A: b\nC: se\x01"
                             "cret"}) {
        auto const outcome = parse_header_fields(text);
        ASSERT_FALSE(outcome) << text;
        EXPECT_NE(outcome.error().message.find("line 2 "), std::string::npos);
        EXPECT_EQ(outcome.error().message.find("secret"), std::string::npos);
    }
}

TEST(trace_settings, names_the_server_by_the_base_url_or_by_its_listeners) {
    std::vector<listen_sockets> sockets;
    sockets.push_back(
        listen_sockets::open(parse_listen_address("http://127.0.0.1:0").value(), 1).value());
    sockets.push_back(
        listen_sockets::open(parse_listen_address("https://127.0.0.1:0").value(), 1).value());
    auto const settings = read_trace_settings({}, sockets).value();
    EXPECT_EQ(settings.plain,
              (trace::protocol::server_address{"127.0.0.1", sockets[0].address().port}));
    EXPECT_EQ(settings.tls,
              (trace::protocol::server_address{"127.0.0.1", sockets[1].address().port}));
    for (auto const& [url, expected] :
         {std::pair("https://api.example.com",
                    trace::protocol::server_address{"api.example.com", 443}),
          {"http://api.example.com", {"api.example.com", 80}},
          {"https://api.example.com:8443", {"api.example.com", 8443}},
          {"https://[::1]:8443", {"[::1]", 8443}},
          {"https://[::1]", {"[::1]", 443}}}) {
        config configuration;
        configuration.base_url = url;
        EXPECT_EQ(read_trace_settings(configuration, sockets)->tls, expected) << url;
    }
}

TEST(trace_settings, refuses_endpoints_ratios_and_names_that_cannot_be) {
    for (auto const* url : {"", "http://127.0.0.1:4318/v1/traces", "https://a.example/x?y=a@b"})
        EXPECT_TRUE(validate_trace_endpoint(url)) << url;
    for (auto const* url : {"ftp://a", "a.example:4318", "http://", "http:///v1", "http://u:p@a/v1",
                            "http://u@a", "http://a b", "http://a\n"})
        EXPECT_FALSE(validate_trace_endpoint(url)) << url;
    EXPECT_TRUE(validate_sample_ratio(0) && validate_sample_ratio(1));
    for (double const ratio : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
        EXPECT_FALSE(validate_sample_ratio(ratio)) << ratio;
    EXPECT_TRUE(validate_service_name("Schlüssel 1"));
    for (auto const& name :
         {std::string(), std::string("a\nb"), std::string("\xff"), std::string(256, 'a')})
        EXPECT_FALSE(validate_service_name(name)) << name;
}

}  // namespace
}  // namespace latchkey::server
