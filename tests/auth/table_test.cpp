#include "auth/table.hpp"

#include <gtest/gtest.h>

#include <boost/smart_ptr/make_local_shared.hpp>
#include <cstring>
#include <map>
#include <random>

namespace latchkey::auth {
namespace {

table::entry make_identity(model::digest const& digest, model::id id) {
    identity result;
    result.record.id = id;
    result.record.digest = digest;
    return boost::make_local_shared<identity const>(std::move(result));
}

// Digests of one bucket with the same tag, which differ at the end only.
model::digest alike(unsigned char suffix) {
    model::digest result{};
    result[31] = suffix;
    return result;
}

TEST(table, compares_whole_digests) {
    table entries(8);
    for (unsigned char i = 0; i < 8; ++i) entries.insert(make_identity(alike(i), i + 1));
    for (unsigned char i = 0; i < 8; ++i) {
        auto const* const entry = entries.find(alike(i));
        ASSERT_NE(entry, nullptr);
        EXPECT_EQ((*entry)->record.id, i + 1);
    }
    EXPECT_EQ(entries.find(alike(8)), nullptr);
}

TEST(table, an_empty_way_matches_no_digest) {
    table entries(8);
    EXPECT_EQ(entries.find(alike(0)), nullptr);
    entries.insert(make_identity(alike(0), 1));
    EXPECT_TRUE(entries.erase(alike(0)));
    EXPECT_EQ(entries.find(alike(0)), nullptr);
    EXPECT_FALSE(entries.erase(alike(0)));
}

TEST(table, evicts_by_second_chance) {
    table entries(8);
    for (unsigned char i = 0; i < 8; ++i) entries.insert(make_identity(alike(i), i + 1));
    entries.insert(make_identity(alike(8), 9));  // clears all bits and evicts the first
    EXPECT_EQ(entries.find(alike(0)), nullptr);
    for (unsigned char const i : {1, 2, 3, 4, 6, 7, 8}) EXPECT_NE(entries.find(alike(i)), nullptr);
    entries.insert(make_identity(alike(9), 10));  // evicts the one that was not found since
    EXPECT_EQ(entries.find(alike(5)), nullptr);
    for (unsigned char const i : {1, 2, 3, 4, 6, 7, 8, 9})
        EXPECT_NE(entries.find(alike(i)), nullptr);
}

TEST(table, an_identity_outlives_its_eviction) {
    table entries(8);
    entries.insert(make_identity(alike(0), 7));
    auto const reference = *entries.find(alike(0));
    EXPECT_EQ(entries.clear(), 1u);
    EXPECT_EQ(reference->record.id, 7);
    EXPECT_EQ(reference.local_use_count(), 1);
}

TEST(table, agrees_with_a_map) {
    std::mt19937_64 random(1);
    table entries(64);
    std::map<model::digest, model::id> model;  // all entries that may be present, with their values
    std::vector<model::digest> digests(200);
    for (auto& each : digests)
        for (std::size_t i = 0; i < each.size(); i += 8) {
            std::uint64_t const bits = random();
            std::memcpy(each.data() + i, &bits, sizeof bits);
        }
    std::size_t hits = 0;
    for (int step = 0; step < 100'000; ++step) {
        auto const& digest = digests[random() % digests.size()];
        auto const* const entry = entries.find(digest);
        if (entry != nullptr) {
            ++hits;
            ASSERT_TRUE(model.contains(digest));
            ASSERT_EQ((*entry)->record.id, model[digest]);
        }
        if (random() % 8 == 0) {
            ASSERT_EQ(entries.erase(digest), entry != nullptr);
            model.erase(digest);
        } else if (entry == nullptr) {
            entries.insert(make_identity(digest, step));
            model[digest] = step;
        }
        if (step % 5000 == 0) {
            ASSERT_LE(entries.clear(), 64u);
            model.clear();
        }
    }
    EXPECT_GT(hits, 15'000u);
}

}  // namespace
}  // namespace latchkey::auth
