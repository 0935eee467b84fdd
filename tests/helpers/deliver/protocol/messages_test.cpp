#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>
#include <set>

#include "helpers/deliver/protocol/deliver_messages.hpp"
#include "tests/base/message_checks.hpp"

namespace latchkey::deliver::protocol {
namespace {

attempt sample_attempt() {
    return {.number = 0x0102030405060708,
            .url = "https://a.example/in",
            .fields = {{"webhook-id", "msg_1"}, {"x-empty", ""}},
            .body = std::string("{\"a\":\"\0\xff\"}", 11),
            .timeout_ms = 20'000,
            .allow = {*model::cidr::parse("10.0.0.0/8"), *model::cidr::parse("::1")},
            .line = 7,
            .predecessor = 0x0102030405060707};
}

std::array<message, 7> sample_messages() {
    return {hello{protocol_version, 77},
            begin{77},
            sample_attempt(),
            attempt{.number = 1},
            result{.number = 9, .status = 200, .duration_ms = 12, .response = "ok\0"},
            result{.number = 9, .retry_after_seconds = 5, .error = "connection refused"},
            unsent{9}};
}

TEST(delivery_messages, each_comes_back_as_it_was) {
    std::set<std::size_t> types;
    for (auto const& each : sample_messages()) {
        auto const decoded = decode(encode(each));
        ASSERT_TRUE(decoded) << decoded.error().message;
        EXPECT_TRUE(*decoded == each) << "type " << each.index();
        types.insert(each.index());
    }
    EXPECT_EQ(types.size(), std::variant_size_v<message>);
}

TEST(delivery_messages, have_one_encoding) {
    EXPECT_EQ(encode(begin{0x0a0b}), std::string("\x02\0\0\0\0\0\0\x0a\x0b", 9));
    EXPECT_EQ(
        encode(attempt{.number = 1, .url = "u", .timeout_ms = 2}),
        std::string("\x03\0\0\0\0\0\0\0\x01\0\0\0\x01u\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0", 30) +
            std::string(16, '\0'));
}

TEST(delivery_messages, have_the_encoding_of_their_version) {
    EXPECT_EQ(base::fingerprint(sample_messages()), 0x021ed0e5c5d08479);
}

TEST(delivery_messages, cut_or_longer_ones_are_refused) {
    base::expect_whole_messages(sample_messages(), decode);
    EXPECT_FALSE(decode(std::string("\x05\0\0\0\0\0\0\0\0", 9)));
    EXPECT_FALSE(decode("\xff"));
}

TEST(delivery_messages, damaged_ones_are_refused_or_mean_what_they_say) {
    base::expect_nothing_guessed(sample_messages(), 5000, decode);
}

TEST(delivery_messages, random_bytes_are_refused_or_mean_what_they_say) {
    std::mt19937 random(2);  // NOLINT: repeatable
    for (int round = 0; round < 50'000; ++round) {
        std::string bytes(random() % 64, '\0');
        for (auto& each : bytes) each = static_cast<char>(random() % 4 == 0 ? random() : 0);
        if (!bytes.empty()) bytes[0] = static_cast<char>(random() % 5);
        auto const decoded = decode(bytes);
        if (decoded) EXPECT_EQ(encode(*decoded), bytes);
    }
}

template <class Change>
bool takes(Change change) {
    auto variant = sample_attempt();
    change(variant);
    return decode(encode(variant)).has_value();
}

TEST(delivery_messages, sizes_beyond_their_bounds_are_refused) {
    EXPECT_TRUE(takes([](attempt& each) { each.url = std::string(url_bytes_max, 'a'); }));
    EXPECT_FALSE(takes([](attempt& each) { each.url = std::string(url_bytes_max + 1, 'a'); }));
    EXPECT_TRUE(takes([](attempt& each) { each.fields.resize(fields_max, {"a", "b"}); }));
    EXPECT_FALSE(takes([](attempt& each) { each.fields.resize(fields_max + 1, {"a", "b"}); }));
    EXPECT_FALSE(
        takes([](attempt& each) { each.fields[0].value = std::string(field_bytes_max + 1, 'a'); }));
    EXPECT_TRUE(takes([](attempt& each) { each.body = std::string(body_bytes_max, 'a'); }));
    EXPECT_FALSE(takes([](attempt& each) { each.body = std::string(body_bytes_max + 1, 'a'); }));
    EXPECT_FALSE(takes([](attempt& each) { each.allow.resize(networks_max + 1); }));
    EXPECT_FALSE(takes([](attempt& each) { each.allow[0].prefix = 129; }));
    EXPECT_FALSE(takes([](attempt& each) { each.timeout_ms = 0; }));
    EXPECT_FALSE(takes([](attempt& each) { each.timeout_ms = timeout_ms_max + 1; }));
    EXPECT_FALSE(takes([](attempt& each) { each.line = 0; }));
    EXPECT_FALSE(decode(encode(result{.error = std::string(error_bytes_max + 1, 'a')})));
    EXPECT_FALSE(decode(encode(result{.response = std::string(response_bytes_max + 1, 'a')})));
    EXPECT_FALSE(decode(encode(result{.status = 1000})));
}

// Each text of each message, in both directions: neither the encoder nor the decoder ends.
TEST(delivery_messages, texts_at_their_bound_pass_and_longer_ones_are_refused) {
    using text = std::string const&;
    struct {
        char const* name;
        std::size_t bytes_max;
        std::function<message(text)> make;
    } const places[] = {
        {"error", error_bytes_max, [](text each) { return result{.error = each}; }},
        {"response", response_bytes_max, [](text each) { return result{.response = each}; }},
        {"url", url_bytes_max, [](text each) { return attempt{.url = each}; }},
        {"name", field_bytes_max, [](text each) { return attempt{.fields = {{each, ""}}}; }},
        {"value", field_bytes_max, [](text each) { return attempt{.fields = {{"n", each}}}; }},
        {"body", body_bytes_max, [](text each) { return attempt{.body = each}; }},
    };
    for (auto const& place : places)
        for (std::size_t const bytes :
             {std::size_t{1}, place.bytes_max - 1, place.bytes_max, place.bytes_max + 1,
              std::size_t{65'535}, std::size_t{65'536}}) {
            auto const content = place.make(std::string(bytes, 'a'));
            auto const decoded = decode(encode(content));
            EXPECT_EQ(decoded.has_value(), bytes <= place.bytes_max) << place.name << bytes;
            if (decoded) EXPECT_TRUE(*decoded == content) << place.name << bytes;
        }
}

TEST(delivery_messages, numbers_at_their_bounds_pass_and_those_beyond_are_refused) {
    for (message const& each :
         {message(hello{UINT32_MAX, UINT64_MAX}), message(begin{UINT64_MAX}),
          message(unsent{UINT64_MAX}), message(attempt{.number = UINT64_MAX, .timeout_ms = 1}),
          message(
              attempt{.timeout_ms = timeout_ms_max, .line = UINT64_MAX, .predecessor = UINT64_MAX}),
          message(attempt{.allow = {networks_max, *model::cidr::parse("::/0")}}),
          message(result{.number = UINT64_MAX,
                         .status = 999,
                         .duration_ms = UINT32_MAX,
                         .retry_after_seconds = UINT32_MAX})}) {
        auto const decoded = decode(encode(each));
        ASSERT_TRUE(decoded) << each.index();
        EXPECT_TRUE(*decoded == each) << each.index();
    }
    EXPECT_FALSE(decode(encode(attempt{.timeout_ms = UINT32_MAX})));
    EXPECT_FALSE(decode(encode(result{.status = UINT16_MAX})));
}

TEST(delivery_messages, fields_that_would_be_others_on_the_wire_are_refused) {
    for (std::string const name : {"", "a:", "a b", "a\r\nb", "a\n", "\xc3\xa4"})
        EXPECT_FALSE(takes([&](attempt& each) { each.fields[0].name = name; })) << name;
    for (std::string const value : {"a\r\nb: c", "a\n", "a\r", "\t", "\x7f", "\xc3\xa4"})
        EXPECT_FALSE(takes([&](attempt& each) { each.fields[0].value = value; })) << value;
    EXPECT_FALSE(takes([](attempt& each) { each.fields[0].value = std::string("a\0", 2); }));
    EXPECT_FALSE(decode(encode(result{.error = "a\nb"})));
}

}  // namespace
}  // namespace latchkey::deliver::protocol
