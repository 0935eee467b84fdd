#include "tracing/messages.hpp"

#include <gtest/gtest.h>

namespace latchkey::tracing {
namespace {

span sample_span() {
    span value;
    for (std::size_t i = 0; i < value.trace_id.size(); ++i)
        value.trace_id[i] = static_cast<std::uint8_t>(i + 1);
    value.span_id.fill(7);
    value.parent_id.fill(9);
    value.start_ns = 1'700'000'000'000'000'001;
    value.end_ns = 1'700'000'000'000'500'000;
    value.key_id = 42;
    value.method = "GET";
    value.route = "/api/v1/users/{id}";
    value.protocol_version = "1.1";
    value.set_request_id("req_abcdefgh");
    value.tls = true;
    value.status = 200;
    return value;
}

std::vector<message> samples() {
    return {hello{protocol_version, 5},
            report{3, 4, "connection refused"},
            settings{.endpoint = "http://127.0.0.1:4318/v1/traces",
                     .fields = {{"Authorization", "Bearer x"}},
                     .service_name = "latchkey",
                     .service_version = "1",
                     .instance_id = "host/7",
                     .plain = {"127.0.0.1", 80},
                     .tls = {"::1", 443}},
            batch{{sample_span(), span{}}},
            flush{},
            begin{5}};
}

TEST(tracing_messages, survive_their_encoding) {
    for (auto const& each : samples()) {
        auto const bytes = encode(each);
        auto const decoded = decode(bytes);
        ASSERT_TRUE(decoded) << each.index();
        EXPECT_EQ(*decoded, each) << each.index();
    }
}

TEST(tracing_messages, are_refused_when_cut_or_longer) {
    for (auto const& each : samples()) {
        auto const bytes = encode(each);
        for (std::size_t size = 0; size < bytes.size(); ++size)
            EXPECT_FALSE(decode(std::string_view(bytes).substr(0, size))) << each.index();
        EXPECT_FALSE(decode(bytes + "x")) << each.index();
    }
    EXPECT_FALSE(decode(std::string(1, '\x7f')));
}

TEST(tracing_messages, have_bounds) {
    batch many;
    many.spans.resize(spans_per_batch_max);
    EXPECT_TRUE(decode(encode(many)));
    many.spans.emplace_back();
    EXPECT_FALSE(decode(encode(many)));
    EXPECT_FALSE(decode(encode(report{0, 0, std::string(text_bytes_max + 1, 'x')})));
    settings fields;
    fields.fields.resize(fields_max + 1);
    EXPECT_FALSE(decode(encode(fields)));
}

}  // namespace
}  // namespace latchkey::tracing
