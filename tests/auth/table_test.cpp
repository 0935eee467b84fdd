#include "auth/table.hpp"

#include <gtest/gtest.h>

#include <boost/smart_ptr/make_local_shared.hpp>
#include <cstring>
#include <map>
#include <random>

namespace latchkey::auth {
namespace {

table::entry some_identity(model::digest const& digest, model::id id) {
    identity made;
    made.record.id = id;
    made.record.digest = digest;
    return boost::make_local_shared<identity const>(std::move(made));
}

// All in the first bucket, with the same tag, different at the end only.
model::digest alike(unsigned char which) {
    model::digest made{};
    made[31] = which;
    return made;
}

TEST(table, compares_whole_digests) {
    table known(8);
    for (unsigned char i = 0; i < 8; ++i) known.insert(some_identity(alike(i), i + 1));
    for (unsigned char i = 0; i < 8; ++i) {
        auto const* const there = known.find(alike(i));
        ASSERT_NE(there, nullptr);
        EXPECT_EQ((*there)->record.id, i + 1);
    }
    EXPECT_EQ(known.find(alike(8)), nullptr);
}

TEST(table, an_empty_way_is_no_digest_of_zeros) {
    table known(8);
    EXPECT_EQ(known.find(alike(0)), nullptr);
    known.insert(some_identity(alike(0), 1));
    EXPECT_TRUE(known.erase(alike(0)));
    EXPECT_EQ(known.find(alike(0)), nullptr);
    EXPECT_FALSE(known.erase(alike(0)));
}

TEST(table, makes_room_by_second_chance) {
    table known(8);
    for (unsigned char i = 0; i < 8; ++i) known.insert(some_identity(alike(i), i + 1));
    known.insert(some_identity(alike(8), 9));  // all marks are taken away, the first goes
    EXPECT_EQ(known.find(alike(0)), nullptr);
    for (unsigned char const i : {1, 2, 3, 4, 6, 7, 8}) EXPECT_NE(known.find(alike(i)), nullptr);
    known.insert(some_identity(alike(9), 10));  // the one that nobody asked for
    EXPECT_EQ(known.find(alike(5)), nullptr);
    for (unsigned char const i : {1, 2, 3, 4, 6, 7, 8, 9}) EXPECT_NE(known.find(alike(i)), nullptr);
}

TEST(table, lives_on_while_a_pushed_out_identity_is_held) {
    table known(8);
    known.insert(some_identity(alike(0), 7));
    auto const held = *known.find(alike(0));
    EXPECT_EQ(known.clear(), 1u);
    EXPECT_EQ(held->record.id, 7);
    EXPECT_EQ(held.local_use_count(), 1);
}

TEST(table, is_never_wrong_about_what_it_has) {
    std::mt19937_64 random(1);
    table known(64);
    std::map<model::digest, model::id> model;  // all that may be there, with what is right for it
    std::vector<model::digest> digests(200);
    for (auto& each : digests)
        for (std::size_t i = 0; i < each.size(); i += 8) {
            std::uint64_t const bits = random();
            std::memcpy(each.data() + i, &bits, sizeof bits);
        }
    std::size_t found = 0;
    for (int step = 0; step < 100'000; ++step) {
        auto const& digest = digests[random() % digests.size()];
        auto const* const there = known.find(digest);
        if (there != nullptr) {
            ++found;
            ASSERT_TRUE(model.contains(digest));
            ASSERT_EQ((*there)->record.id, model[digest]);
        }
        if (random() % 8 == 0) {
            ASSERT_EQ(known.erase(digest), there != nullptr);
            model.erase(digest);
        } else if (there == nullptr) {
            known.insert(some_identity(digest, step));
            model[digest] = step;
        }
        if (step % 5000 == 0) {
            ASSERT_LE(known.clear(), 64u);
            model.clear();
        }
    }
    EXPECT_GT(found, 15'000u);
}

}  // namespace
}  // namespace latchkey::auth
