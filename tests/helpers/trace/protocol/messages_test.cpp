#include <gtest/gtest.h>

#include <functional>

#include "helpers/trace/protocol/trace_messages.hpp"
#include "tests/base/message_checks.hpp"

namespace latchkey::trace::protocol {
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

TEST(tracing_messages, have_the_encoding_of_their_version) {
    EXPECT_EQ(base::fingerprint(samples()), 0x566f2b08a9f78c3d);
}

TEST(tracing_messages, are_refused_when_cut_or_longer) {
    base::expect_whole_messages(samples(), decode);
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
    fields.fields.resize(fields_max);
    EXPECT_TRUE(decode(encode(fields)));
    fields.fields.resize(fields_max + 1);
    EXPECT_FALSE(decode(encode(fields)));
}

// Each text of each message, in both directions: neither the encoder nor the decoder ends.
TEST(tracing_messages, texts_at_their_bound_pass_and_longer_ones_are_refused) {
    using text = std::string const&;
    std::pair<char const*, std::function<message(text)>> const places[] = {
        {"failure", [](text each) { return report{1, 2, each}; }},
        {"endpoint", [](text each) { return settings{.endpoint = each}; }},
        {"name", [](text each) { return settings{.fields = {{each, "v"}}}; }},
        {"value", [](text each) { return settings{.fields = {{"n", each}}}; }},
        {"service name", [](text each) { return settings{.service_name = each}; }},
        {"service version", [](text each) { return settings{.service_version = each}; }},
        {"instance", [](text each) { return settings{.instance_id = each}; }},
        {"plain host", [](text each) { return settings{.plain = {each, 1}}; }},
        {"TLS host", [](text each) { return settings{.tls = {each, 1}}; }},
        {"method", [](text each) { return batch{{{.method = each}}}; }},
        {"route", [](text each) { return batch{{{.route = each}}}; }},
        {"protocol", [](text each) { return batch{{{.protocol_version = each}}}; }},
    };
    for (auto const& [name, make] : places)
        for (std::size_t const bytes :
             {std::size_t{0}, text_bytes_max, text_bytes_max + 1, std::size_t{65'535},
              std::size_t{65'536}, std::size_t{100'000}}) {
            std::string const value(bytes, 'a');
            auto const content = make(value);
            auto const encoding = encode(content);
            auto const decoded = decode(encoding);
            EXPECT_EQ(decoded.has_value(), bytes <= text_bytes_max) << name << bytes;
            if (decoded) EXPECT_EQ(*decoded, content) << name << bytes;
        }
}

TEST(tracing_messages, numbers_at_their_bounds_pass) {
    span value;
    value.start_ns = value.end_ns = value.key_id = UINT64_MAX;
    value.status = UINT16_MAX;
    value.set_request_id(std::string(span::request_id_bytes_max + 1, 'a'));
    for (message const& each :
         {message(hello{UINT32_MAX, UINT64_MAX}), message(report{UINT64_MAX, UINT64_MAX, ""}),
          message(settings{.plain = {"", UINT16_MAX}}), message(batch{{value}}),
          message(begin{UINT64_MAX})}) {
        auto const encoding = encode(each);
        auto const decoded = decode(encoding);
        ASSERT_TRUE(decoded) << each.index();
        EXPECT_EQ(*decoded, each) << each.index();
    }
}

}  // namespace
}  // namespace latchkey::trace::protocol
