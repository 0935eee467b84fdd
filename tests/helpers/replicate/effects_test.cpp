#include <gtest/gtest.h>

#include <random>

#include "effect_bytes.hpp"
#include "helpers/replicate/state_changes.hpp"

namespace latchkey::replicate {
namespace {

std::optional<std::string> value(state_changes const& changes, std::uint8_t table,
                                 std::string const& key) {
    return changes.records().at({table, key});
}

TEST(effects, the_last_change_of_a_record_counts) {
    auto const bytes = put_effect(1, "a", "old") + put_effect(1, "b", "") + erase_effect(1, "a") +
                       put_effect(2, "a", "other") + append_effect(1, "c", "new") +
                       put_effect(1, "a", "newest") + erase_effect(1, "b");
    state_changes changes;
    std::string_view rest = bytes;
    EXPECT_FALSE(*changes.add(rest));
    EXPECT_TRUE(rest.empty());
    EXPECT_EQ(changes.records().size(), 4u);
    EXPECT_EQ(value(changes, 1, "a"), "newest");
    EXPECT_EQ(value(changes, 1, "b"), std::nullopt);
    EXPECT_EQ(value(changes, 1, "c"), "new");
    EXPECT_EQ(value(changes, 2, "a"), "other");
}

TEST(effects, a_range_comes_between_what_is_before_and_after_it) {
    auto const bytes =
        put_effect(1, "a", "1") + range_effect(1, "a", "c", 7) + put_effect(1, "b", "2");
    state_changes changes;
    std::string_view rest = bytes;
    auto const range = *changes.add(rest);
    ASSERT_TRUE(range);
    EXPECT_EQ(range->table, 1);
    EXPECT_EQ(range->begin, "a");
    EXPECT_EQ(range->end, "c");
    EXPECT_EQ(range->count, 7u);
    EXPECT_EQ(changes.records().size(), 1u);
    changes.clear();
    EXPECT_FALSE(*changes.add(rest));
    EXPECT_EQ(value(changes, 1, "b"), "2");
}

TEST(effects, cut_ones_are_refused) {
    for (auto const& bytes :
         {put_effect(1, "key", "value"), erase_effect(1, "key"), range_effect(1, "a", "b", 1)}) {
        for (std::size_t size = 1; size < bytes.size(); ++size) {
            state_changes changes;
            auto rest = std::string_view(bytes).substr(0, size);
            EXPECT_FALSE(changes.add(rest)) << size;
        }
    }
}

TEST(effects, unknown_kinds_are_refused) {
    for (char const kind : {0, 5, -1}) {
        auto bytes = put_effect(1, "key", "value");
        bytes[0] = kind;
        state_changes changes;
        std::string_view rest = bytes;
        EXPECT_FALSE(changes.add(rest));
    }
}

TEST(effects, random_bytes_end_somehow) {
    std::mt19937 random(1);  // NOLINT: repeatable
    for (int round = 0; round < 100'000; ++round) {
        std::string bytes(random() % 40, '\0');
        for (auto& each : bytes) each = static_cast<char>(random() % 6);
        state_changes changes;
        std::string_view rest = bytes;
        std::size_t earlier = rest.size();
        while (!rest.empty() && changes.add(rest)) {
            ASSERT_LT(rest.size(), earlier) << "an effect takes bytes";
            earlier = rest.size();
        }
    }
}

}  // namespace
}  // namespace latchkey::replicate
