#include "store/effects.hpp"

#include <gtest/gtest.h>

namespace latchkey::store {
namespace {

std::string all_kinds() {
    std::string effects;
    encode({.kind = effect_kind::put, .key = "key", .content = "content"}, effects);
    encode({.kind = effect_kind::append, .table = table::posts, .key = "12345678"}, effects);
    encode({.kind = effect_kind::erase, .table = table::users, .key = "k"}, effects);
    encode({.kind = effect_kind::erase_range, .key = "a", .content = "b", .count = 7}, effects);
    return effects;
}

TEST(effects, are_decoded_in_their_order) {
    auto const effects = all_kinds();
    effect_reader reader(effects);
    auto const put = reader.next();
    ASSERT_TRUE(put);
    EXPECT_EQ(put->kind, effect_kind::put);
    EXPECT_EQ(put->table, table::index);
    EXPECT_EQ(put->key, "key");
    EXPECT_EQ(put->content, "content");
    auto const append = reader.next();
    ASSERT_TRUE(append);
    EXPECT_EQ(append->kind, effect_kind::append);
    EXPECT_EQ(append->table, table::posts);
    EXPECT_EQ(append->content, "");
    auto const erase = reader.next();
    ASSERT_TRUE(erase);
    EXPECT_EQ(erase->kind, effect_kind::erase);
    EXPECT_EQ(erase->key, "k");
    auto const range = reader.next();
    ASSERT_TRUE(range);
    EXPECT_EQ(range->kind, effect_kind::erase_range);
    EXPECT_EQ(range->content, "b");
    EXPECT_EQ(range->count, 7u);
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.ok());
}

TEST(effects, that_are_cut_short_are_noticed) {
    auto const effects = all_kinds();
    std::size_t whole = 0;
    for (std::size_t size = 0; size < effects.size(); ++size) {
        effect_reader reader(std::string_view(effects).substr(0, size));
        while (reader.next()) {
        }
        whole += reader.ok() ? 1 : 0;
    }
    EXPECT_EQ(whole, 4u);  // nothing, and up to the end of each of the first three
}

TEST(effects, of_an_unknown_kind_or_table_are_refused) {
    for (std::size_t const place : {0u, 1u}) {
        auto effects = all_kinds();
        effects[place] = 9;
        effect_reader reader(effects);
        EXPECT_FALSE(reader.next());
        EXPECT_FALSE(reader.ok());
    }
}

}  // namespace
}  // namespace latchkey::store
