#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/bytes.hpp"
#include "samples.hpp"
#include "tests/base/message_checks.hpp"

namespace latchkey::replicate::protocol {
namespace {

TEST(messages, each_comes_back_as_it_was) {
    std::set<std::size_t> types;
    for (auto const& each : sample_messages()) {
        auto const decoded = decode(encode(each));
        ASSERT_TRUE(decoded) << decoded.error().message;
        EXPECT_TRUE(*decoded == each) << "type " << each.content.index();
        types.insert(each.content.index());
    }
    EXPECT_EQ(types.size(), std::variant_size_v<message>);
}

TEST(messages, the_encoding_begins_with_type_and_request) {
    auto const bytes = encode({0x01020304, tail{9}});
    EXPECT_EQ(bytes,
              std::string("\x05\x01\x02\x03\x04\0\0\0\0\0\0\0\x09", 13) + std::string(16, '\0'));
}

TEST(messages, have_the_encoding_of_their_version) {
    EXPECT_EQ(base::fingerprint(sample_messages()), 0x9b865885e95aa424);
}

TEST(messages, cut_or_longer_ones_are_refused) {
    base::expect_whole_messages(sample_messages(), decode);
}

TEST(messages, an_unknown_type_is_refused) {
    auto bytes = encode({1, status{}});
    bytes[0] = static_cast<char>(std::variant_size_v<message>);
    EXPECT_FALSE(decode(bytes));
}

TEST(messages, damaged_ones_are_refused_or_mean_what_they_say) {
    base::expect_nothing_guessed(sample_messages(), 2000, decode);
}

TEST(messages, lengths_beyond_their_bounds_are_refused) {
    configure message{.conninfo = std::string(conninfo_bytes_max, 'x')};
    EXPECT_TRUE(decode(encode({0, message})));
    message.conninfo += 'x';
    EXPECT_FALSE(decode(encode({0, message})));
    append big{{.effects = std::string(effects_bytes_max, 'x')}};
    EXPECT_TRUE(decode(encode({0, big})));
    big.row.effects += 'x';
    EXPECT_FALSE(decode(encode({0, big})));
}

// Each text of each message, in both directions: neither the encoder nor the decoder ends.
TEST(messages, texts_at_their_bound_pass_and_longer_ones_are_refused) {
    using text = std::string const&;
    struct {
        char const* name;
        std::size_t bytes_max;
        std::function<message(text)> make;
    } const places[] = {
        {"conninfo", conninfo_bytes_max, [](text each) { return configure{.conninfo = each}; }},
        {"node", name_bytes_max, [](text each) { return configure{.node = each}; }},
        {"version", name_bytes_max, [](text each) { return configure{.version = each}; }},
        {"effects", effects_bytes_max, [](text each) { return append{{.effects = each}}; }},
        {"row", effects_bytes_max, [](text each) { return rows{{{.effects = each}}}; }},
        {"leaver", name_bytes_max, [](text each) { return leave{each}; }},
        {"failure", text_bytes_max, [](text each) { return failed{.text = each}; }},
        {"engine", text_bytes_max, [](text each) { return engine{true, each}; }},
        {"server", text_bytes_max, [](text each) { return status_report{.server = each}; }},
        {"host", text_bytes_max, [](text each) { return status_report{.host = each}; }},
        {"its node", name_bytes_max, [](text each) { return status_report{.nodes = {{each}}}; }},
        {"name", name_bytes_max, [](text each) { return nodes{{{.name = each}}}; }},
        {"program", name_bytes_max, [](text each) { return nodes{{{.version = each}}}; }},
        {"key", record_key_bytes_max, [](text each) { return state_chunk{{{1, each, ""}}}; }},
        {"value", effects_bytes_max, [](text each) { return state_chunk{{{1, "", each}}}; }},
        {"member", name_bytes_max, [](text each) { return quota_answer{.members = {{each}}}; }},
    };
    for (auto const& place : places)
        for (std::size_t const bytes :
             {std::size_t{0}, place.bytes_max, place.bytes_max + 1, std::size_t{65'536}}) {
            envelope const parcel{7, place.make(std::string(bytes, 'a'))};
            auto const decoded = decode(encode(parcel));
            EXPECT_EQ(decoded.has_value(), bytes <= place.bytes_max) << place.name << bytes;
            if (decoded) EXPECT_TRUE(*decoded == parcel) << place.name << bytes;
        }
}

TEST(messages, lists_at_their_bound_pass_and_longer_ones_are_refused) {
    struct {
        char const* name;
        std::size_t count_max;
        std::function<message(std::size_t)> make;
    } const places[] = {
        {"nodes", nodes_max, [](auto count) { return nodes{std::vector<node_state>(count)}; }},
        {"report", nodes_max,
         [](auto count) { return status_report{.nodes = std::vector<node_state>(count)}; }},
        {"wants", quota_wants_max,
         [](auto count) { return quota_ask{.wants = std::vector<quota_want>(count)}; }},
        {"rules", quota_rules_max,
         [](auto count) {
             return quota_ask{.wants = {{.rules = std::vector<quota_rule>(count)}}};
         }},
        {"grants", quota_wants_max,
         [](auto count) { return quota_answer{.grants = std::vector<quota_grant>(count)}; }},
        {"arrivals", quota_rules_max,
         [](auto count) {
             return quota_answer{.grants = {{.arrivals = std::vector<cluster_ns>(count)}}};
         }},
        {"members", nodes_max,
         [](auto count) { return quota_answer{.members = std::vector<quota_member>(count)}; }},
    };
    for (auto const& place : places)
        for (std::size_t const count : {std::size_t{0}, place.count_max, place.count_max + 1}) {
            envelope const parcel{0, place.make(count)};
            auto const decoded = decode(encode(parcel));
            EXPECT_EQ(decoded.has_value(), count <= place.count_max) << place.name << count;
            if (decoded) EXPECT_TRUE(*decoded == parcel) << place.name << count;
        }
}

TEST(messages, numbers_at_their_bounds_pass) {
    constexpr auto most = UINT64_MAX;
    constexpr auto late = INT64_MAX, early = INT64_MIN;
    for (message const& each :
         {message(append{{.position = most, .schema = UINT32_MAX}}),
          message(resolve{.position = most}),
          message(reserve{.position = most}),
          message(tail{.position = most}),
          message(applied{most, true}),
          message(watch{most}),
          message(init_end{most, UINT32_MAX}),
          message(hello{UINT32_MAX, most}),
          message(ready{{}, most, most, most}),
          message(appended{append_result::won, most}),
          message(reserved{true, most}),
          message(lease{late, most}),
          message(lease{early, 0}),
          message(confirmed{most, late, most}),
          message(nodes{
              {{.position = most, .renewal = most, .renewal_seen = early, .lease_end = late}}}),
          message(state_begin{most, most, UINT32_MAX}),
          message(state_end{most}),
          message(state_chunk{{{255, "", ""}}}),
          message(quota_ask{most,
                            most,
                            late,
                            UINT32_MAX,
                            UINT32_MAX,
                            {{late, most, UINT32_MAX, early, {{255, most, late, UINT32_MAX}}}}}),
          message(quota_answer{true,
                               UINT32_MAX,
                               early,
                               {{"", most, most, UINT32_MAX, late}},
                               {{early, most, UINT32_MAX, late, {early, late}}}})}) {
        auto const decoded = decode(encode({UINT32_MAX, each}));
        ASSERT_TRUE(decoded) << each.index();
        EXPECT_TRUE(*decoded == (envelope{UINT32_MAX, each})) << each.index();
    }
}

TEST(messages, a_count_without_its_elements_is_refused_without_memory_for_them) {
    auto bytes = encode({0, rows{}});
    base::put(bytes.data() + 5, std::uint32_t{1 << 20});
    EXPECT_FALSE(decode(bytes));
    base::put(bytes.data() + 5, ~std::uint32_t{0});
    EXPECT_FALSE(decode(bytes));
}

TEST(messages, flags_and_choices_have_no_other_values) {
    auto bytes = encode({0, read_state{true}});
    bytes.back() = 2;
    EXPECT_FALSE(decode(bytes));
    bytes = encode({0, appended{append_result::unavailable, 1}});
    bytes[5] = static_cast<char>(append_result::count_);
    EXPECT_FALSE(decode(bytes));
}

}  // namespace
}  // namespace latchkey::replicate::protocol
