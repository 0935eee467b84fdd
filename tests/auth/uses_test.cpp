// What keys were used for, as one worker saw it.
#include "auth/uses.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "../limit/allocations.hpp"

namespace latchkey::auth {
namespace {

using list = std::vector<std::pair<model::id, base::wall_ms>>;

constexpr base::wall_ms minute = 60'000;
constexpr base::wall_ms today = 1'800'000'000'000 / minute * minute;

list last_uses(std::vector<store::key_use> const& taken) {
    list found;
    for (auto const& each : taken) found.emplace_back(each.key, each.last_used);
    std::sort(found.begin(), found.end());
    return found;
}

// By key and minute.
using totals = std::map<std::pair<model::id, base::wall_ms>, model::usage>;
void add(totals& to, std::vector<store::key_use> const& taken) {
    for (auto const& each : taken)
        if (each.counted != model::usage{}) to[{each.key, each.minute}] += each.counted;
}
totals take_all(uses& from, std::size_t most = 256) {
    totals all;
    while (!from.empty()) add(all, from.take(most));
    return all;
}

TEST(uses, are_taken_once_and_remembered) {
    uses seen;
    EXPECT_TRUE(seen.empty());
    seen.note(7, 100), seen.note(8, 110), seen.note(7, 120), seen.note(7, 90);
    EXPECT_EQ(seen.last(7), 120);
    EXPECT_EQ(seen.last(9), 0);
    EXPECT_EQ(last_uses(seen.take(10)), (list{{7, 120}, {8, 110}}));
    EXPECT_TRUE(seen.empty());
    EXPECT_EQ(seen.last(7), 120);
    seen.note(8, 130);
    EXPECT_EQ(last_uses(seen.take(10)), (list{{8, 130}}));
}

TEST(uses, are_taken_in_parts) {
    uses seen;
    for (model::id id = 1; id <= 5; ++id) seen.note(id, id);
    auto all = seen.take(2);
    EXPECT_EQ(all.size(), 2u);
    auto const rest = seen.take(9);
    all.insert(all.end(), rest.begin(), rest.end());
    EXPECT_EQ(last_uses(all), (list{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}}));
}

TEST(uses, are_counted_by_minute) {
    uses seen;
    seen.count(7, today, 200, false);
    seen.count(7, today + 59'999, 404, false);
    seen.count(8, today + 30'000, 503, false);
    seen.count(7, today + minute, 429, true);
    seen.count(7, today + minute + 5, 304, false);
    // Of a minute that is over for this key: in the one that is not.
    seen.count(7, today + 59'999, 201, false);
    EXPECT_EQ(take_all(seen), (totals{{{7, today}, {{1, 0, 1, 0}, 0}},
                                      {{7, today + minute}, {{1, 1, 1, 0}, 1}},
                                      {{8, today}, {{0, 0, 0, 1}, 0}}}));
    EXPECT_EQ(seen.last(7), 0) << "no request with it was accepted";
    seen.count(7, today + minute + 9, 200, false);
    EXPECT_EQ(take_all(seen), (totals{{{7, today + minute}, {{1, 0, 0, 0}, 0}}}));
}

TEST(uses, that_are_counted_and_noted_are_taken_as_one) {
    uses seen;
    seen.note(7, today + 1);
    seen.count(7, today + 1, 200, false);
    auto const taken = seen.take(10);
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].key, 7);
    EXPECT_EQ(taken[0].last_used, today + 1);
    EXPECT_EQ(taken[0].minute, today);
    EXPECT_EQ(taken[0].counted.requests(), 1u);
}

TEST(uses, ask_to_be_emptied_and_drop_nothing) {
    uses seen;
    model::id keys = 0;
    while (!seen.full()) seen.count(++keys, today, 200, false);
    EXPECT_GE(keys, 1000);
    for (model::id more = 0; more < 100'000; ++more) seen.count(++keys, today, 200, false);
    for (model::id key = 1; key <= keys; ++key) seen.count(key, today + minute, 200, false);
    auto const all = take_all(seen);
    EXPECT_EQ(all.size(), 2u * static_cast<std::size_t>(keys));
    EXPECT_FALSE(seen.full());
    // What was many is forgotten, and counted again all the same.
    EXPECT_EQ(seen.last(1), 0);
    seen.count(1, today + minute, 200, false);
    EXPECT_EQ(take_all(seen).size(), 1u);
}

TEST(uses, that_were_refused_are_taken_again) {
    uses seen;
    seen.note(7, today);
    seen.count(7, today, 200, false);
    auto const batch = seen.take(10);
    seen.count(7, today + 1, 200, false);
    EXPECT_EQ(seen.put_back(batch), 0u);
    auto const taken = seen.take(10);
    totals all;
    add(all, taken);
    EXPECT_EQ(all, (totals{{{7, today}, {{2, 0, 0, 0}, 0}}}));
    EXPECT_EQ(last_uses(taken).back(), (std::pair<model::id, base::wall_ms>{7, today}));
}

TEST(uses, that_are_refused_for_very_long_are_bounded) {
    uses seen;
    std::uint64_t lost = 0, counted = 0;
    for (base::wall_ms at = today; lost == 0 && counted < 1'000'000; at += minute) {
        for (model::id key = 1; key <= 200; ++key, ++counted) seen.count(key, at, 200, false);
        lost += seen.put_back(seen.take(256));
    }
    EXPECT_GE(counted, 65'536u);
    EXPECT_GT(lost, 0u);
    std::uint64_t left = 0;
    for (auto const& [at, each] : take_all(seen)) left += each.requests();
    EXPECT_EQ(left + lost, counted);
}

// Keys, minutes, batches and refusals as they come: nothing is lost and nothing counted twice.
TEST(uses, taken_together_are_what_was_counted) {
    std::mt19937_64 random(7);
    uses seen;
    totals expected, stored;
    for (int i = 0; i < 50'000; ++i) {
        auto const key = static_cast<model::id>(1 + random() % 50);
        auto const at = today + i * 20;
        auto const status = static_cast<unsigned>(200 + random() % 4 * 100);
        bool const limited = status == 400 && random() % 2 == 0;
        seen.count(key, at, status, limited);
        expected[{key, start_of(model::granularity::minute, at)}].count(status, limited);
        if (random() % 100 != 0) continue;
        auto const batch = seen.take(1 + random() % 60);
        random() % 3 == 0 ? void(seen.put_back(batch)) : add(stored, batch);
    }
    for (auto const& [at, each] : take_all(seen)) stored[at] += each;
    EXPECT_EQ(stored, expected);
}

TEST(uses, of_a_key_that_is_known_allocate_nothing) {
    if (!test::counts_allocations()) GTEST_SKIP();
    uses seen;
    for (model::id key = 1; key <= 2; ++key) seen.note(key, 1), seen.count(key, 1, 200, false);
    seen.take(9);
    auto const before = test::allocations();
    for (base::wall_ms at = 2; at < 100; ++at)
        for (model::id key = 1; key <= 2; ++key)
            seen.note(key, at), seen.count(key, at, 200, false);
    EXPECT_EQ(test::allocations(), before);
}

}  // namespace
}  // namespace latchkey::auth
