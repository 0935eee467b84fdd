#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/bytes.hpp"
#include "samples.hpp"

namespace latchkey::replication {
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

TEST(messages, cut_ones_are_refused) {
    for (auto const& each : sample_messages()) {
        auto const bytes = encode(each);
        for (std::size_t size = 0; size < bytes.size(); ++size)
            EXPECT_FALSE(decode(std::string_view(bytes).substr(0, size)))
                << "type " << each.content.index() << " cut to " << size;
    }
}

TEST(messages, bytes_beyond_the_end_are_refused) {
    for (auto const& each : sample_messages()) EXPECT_FALSE(decode(encode(each) + '\0'));
}

TEST(messages, an_unknown_type_is_refused) {
    auto bytes = encode({1, status{}});
    bytes[0] = static_cast<char>(std::variant_size_v<message>);
    EXPECT_FALSE(decode(bytes));
}

// Whatever a damaged message still decodes to is encoded to the same bytes: nothing is guessed.
TEST(messages, bent_ones_are_refused_or_mean_what_they_say) {
    std::mt19937 random(1);  // NOLINT: repeatable
    for (auto const& each : sample_messages()) {
        auto const bytes = encode(each);
        for (int round = 0; round < 2000; ++round) {
            auto damaged = bytes;
            for (auto i = random() % 3 + 1; i > 0; --i)
                damaged[random() % damaged.size()] = static_cast<char>(random());
            auto const decoded = decode(damaged);
            if (decoded) EXPECT_EQ(encode(*decoded), damaged);
        }
    }
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
}  // namespace latchkey::replication
