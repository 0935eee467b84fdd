#include "auth/usage_counter.hpp"

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

list last_uses(std::vector<domain::key_use> const& batch) {
    list result;
    for (auto const& each : batch) result.emplace_back(each.key, each.last_used);
    std::sort(result.begin(), result.end());
    return result;
}

// By key and minute.
using totals = std::map<std::pair<model::id, base::wall_ms>, model::usage>;
void add(totals& sums, std::vector<domain::key_use> const& batch) {
    for (auto const& each : batch)
        if (each.counted != model::usage{}) sums[{each.key, each.minute}] += each.counted;
}
totals take_all(usage_counter& counter, std::size_t count_max = 256) {
    totals all;
    while (!counter.empty()) add(all, counter.take(count_max));
    return all;
}

TEST(usage_counter, takes_each_use_once_and_keeps_the_last) {
    usage_counter counter;
    EXPECT_TRUE(counter.empty());
    counter.note(7, 100);
    counter.note(8, 110);
    counter.note(7, 120);
    counter.note(7, 90);
    EXPECT_EQ(counter.last(7), 120);
    EXPECT_EQ(counter.last(9), 0);
    EXPECT_EQ(last_uses(counter.take(10)), (list{{7, 120}, {8, 110}}));
    EXPECT_TRUE(counter.empty());
    EXPECT_EQ(counter.last(7), 120);
    counter.note(8, 130);
    EXPECT_EQ(last_uses(counter.take(10)), (list{{8, 130}}));
}

model::digest digest_number(unsigned number) {
    model::digest digest{};
    std::memcpy(digest.data(), &number, sizeof number);
    return digest;
}

TEST(usage_counter, takes_each_exposed_key_once) {
    usage_counter counter;
    for (int i = 0; i < 3; ++i) counter.expose(digest_number(1));
    counter.expose_unknown(digest_number(2));
    EXPECT_FALSE(counter.empty());
    auto all = counter.take_exposed();
    std::ranges::sort(all);
    EXPECT_EQ(all, (std::vector{digest_number(1), digest_number(2)}));
    EXPECT_TRUE(counter.empty());
    counter.expose(digest_number(1));
    EXPECT_EQ(counter.take_exposed().size(), 1u);
}

TEST(usage_counter, remembers_as_many_exposed_keys_as_a_command_takes_and_fewer_unknown_ones) {
    usage_counter counter;
    for (unsigned i = 0; i < 1000; ++i) counter.expose_unknown(digest_number(i));
    EXPECT_EQ(counter.take_exposed().size(), domain::key_uses_max / 4);
    for (unsigned i = 0; i < 1000; ++i) counter.expose_unknown(digest_number(i));
    for (unsigned i = 0; i < 1000; ++i) counter.expose(digest_number(5000 + i));
    EXPECT_EQ(counter.take_exposed().size(), domain::key_uses_max);
    if (!test::counts_allocations()) return;
    auto const count = test::allocations();
    for (unsigned i = 0; i < 1000; ++i) counter.expose(digest_number(i));
    EXPECT_EQ(test::allocations(), count);
}

TEST(usage_counter, takes_uses_in_parts) {
    usage_counter counter;
    for (model::id id = 1; id <= 5; ++id) counter.note(id, id);
    auto all = counter.take(2);
    EXPECT_EQ(all.size(), 2u);
    auto const rest = counter.take(9);
    all.insert(all.end(), rest.begin(), rest.end());
    EXPECT_EQ(last_uses(all), (list{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}}));
}

TEST(usage_counter, counts_by_minute) {
    usage_counter counter;
    counter.count(7, today, 200, false);
    counter.count(7, today + 59'999, 404, false);
    counter.count(8, today + 30'000, 503, false);
    counter.count(7, today + minute, 429, true);
    counter.count(7, today + minute + 5, 304, false);
    // A response of a completed minute counts in the current one.
    counter.count(7, today + 59'999, 201, false);
    EXPECT_EQ(take_all(counter), (totals{{{7, today}, {{1, 0, 1, 0}, 0}},
                                         {{7, today + minute}, {{1, 1, 1, 0}, 1}},
                                         {{8, today}, {{0, 0, 0, 1}, 0}}}));
    EXPECT_EQ(counter.last(7), 0) << "no request with it was accepted";
    counter.count(7, today + minute + 9, 200, false);
    EXPECT_EQ(take_all(counter), (totals{{{7, today + minute}, {{1, 0, 0, 0}, 0}}}));
}

TEST(usage_counter, returns_count_and_last_use_as_one_entry) {
    usage_counter counter;
    counter.note(7, today + 1);
    counter.count(7, today + 1, 200, false);
    auto const batch = counter.take(10);
    ASSERT_EQ(batch.size(), 1u);
    EXPECT_EQ(batch[0].key, 7);
    EXPECT_EQ(batch[0].last_used, today + 1);
    EXPECT_EQ(batch[0].minute, today);
    EXPECT_EQ(batch[0].counted.requests(), 1u);
}

TEST(usage_counter, asks_for_a_flush_and_drops_nothing) {
    usage_counter counter;
    model::id keys = 0;
    while (!counter.full()) counter.count(++keys, today, 200, false);
    EXPECT_GE(keys, 1000);
    for (model::id more = 0; more < 100'000; ++more) counter.count(++keys, today, 200, false);
    for (model::id key = 1; key <= keys; ++key) counter.count(key, today + minute, 200, false);
    auto const all = take_all(counter);
    EXPECT_EQ(all.size(), 2u * static_cast<std::size_t>(keys));
    EXPECT_FALSE(counter.full());
    // So many entries were dropped after the flush; a new one counts as before.
    EXPECT_EQ(counter.last(1), 0);
    counter.count(1, today + minute, 200, false);
    EXPECT_EQ(take_all(counter).size(), 1u);
}

TEST(usage_counter, takes_a_refused_batch_again) {
    usage_counter counter;
    counter.note(7, today);
    counter.count(7, today, 200, false);
    auto const batch = counter.take(10);
    counter.count(7, today + 1, 200, false);
    EXPECT_EQ(counter.put_back(batch), 0u);
    auto const second = counter.take(10);
    totals all;
    add(all, second);
    EXPECT_EQ(all, (totals{{{7, today}, {{2, 0, 0, 0}, 0}}}));
    EXPECT_EQ(last_uses(second).back(), (std::pair<model::id, base::wall_ms>{7, today}));
}

TEST(usage_counter, restores_the_last_use_of_a_refused_batch) {
    usage_counter counter;
    EXPECT_EQ(counter.put_back({{.key = 3, .last_used = today}}), 0u);
    EXPECT_EQ(counter.last(3), today);
    EXPECT_EQ(last_uses(counter.take(10)), (list{{3, today}}));
}

TEST(usage_counter, bounds_refused_batches) {
    constexpr std::size_t past_max = 64 * 1024;
    usage_counter counter;
    domain::key_use each{.key = 1, .minute = today};
    each.counted.count(200, false);
    EXPECT_EQ(counter.put_back(std::vector(past_max, each)), 0u);
    EXPECT_EQ(counter.put_back({each, each}), 2u);
    EXPECT_EQ(counter.take(1).size(), 1u);
    EXPECT_EQ(counter.put_back({each, each}), 1u);
}

TEST(usage_counter, bounds_batches_that_are_refused_for_long) {
    usage_counter counter;
    std::uint64_t losses = 0, counted = 0;
    for (base::wall_ms time = today; losses == 0 && counted < 1'000'000; time += minute) {
        for (model::id key = 1; key <= 200; ++key, ++counted) counter.count(key, time, 200, false);
        losses += counter.put_back(counter.take(256));
    }
    EXPECT_GE(counted, 65'536u);
    EXPECT_GT(losses, 0u);
    std::uint64_t left = 0;
    for (auto const& [key, each] : take_all(counter)) left += each.requests();
    EXPECT_EQ(left + losses, counted);
}

// Random keys, minutes, batches and refusals: nothing is lost and nothing is counted twice.
TEST(usage_counter, batches_add_up_to_the_counts) {
    std::mt19937_64 random(7);
    usage_counter counter;
    totals expected, stored;
    for (int i = 0; i < 50'000; ++i) {
        auto const key = static_cast<model::id>(1 + random() % 50);
        auto const time = today + i * 20;
        auto const status = static_cast<unsigned>(200 + random() % 4 * 100);
        bool const limited = status == 400 && random() % 2 == 0;
        counter.count(key, time, status, limited);
        expected[{key, start_of(model::granularity::minute, time)}].count(status, limited);
        if (random() % 100 != 0) continue;
        auto const batch = counter.take(1 + random() % 60);
        random() % 3 == 0 ? void(counter.put_back(batch)) : add(stored, batch);
    }
    for (auto const& [key, each] : take_all(counter)) stored[key] += each;
    EXPECT_EQ(stored, expected);
}

TEST(usage_counter, allocates_nothing_for_a_known_key) {
    if (!test::counts_allocations()) GTEST_SKIP();
    usage_counter counter;
    for (model::id key = 1; key <= 2; ++key) {
        counter.note(key, 1);
        counter.count(key, 1, 200, false);
    }
    counter.take(9);
    auto const initial = test::allocations();
    for (base::wall_ms time = 2; time < 100; ++time)
        for (model::id key = 1; key <= 2; ++key) {
            counter.note(key, time);
            counter.count(key, time, 200, false);
        }
    EXPECT_EQ(test::allocations(), initial);
}

}  // namespace
}  // namespace latchkey::auth
