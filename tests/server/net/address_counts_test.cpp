#include "server/net/address_counts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

namespace latchkey::server {
namespace {

model::address numbered(unsigned number) {
    auto some = model::address::parse("10.0.0.0").value();
    some.bytes[14] = static_cast<std::uint8_t>(number >> 8);
    some.bytes[15] = static_cast<std::uint8_t>(number);
    return some;
}

TEST(address_counts, let_in_as_many_as_are_allowed) {
    address_counts counts(2, 8, 1);
    EXPECT_TRUE(counts.on());
    EXPECT_TRUE(counts.enter(numbered(1)));
    EXPECT_TRUE(counts.enter(numbered(1)));
    EXPECT_FALSE(counts.enter(numbered(1)));
    EXPECT_TRUE(counts.enter(numbered(2)));
    counts.leave(numbered(1));
    EXPECT_TRUE(counts.enter(numbered(1)));
    EXPECT_FALSE(counts.enter(numbered(1)));
}

TEST(address_counts, are_off_with_zero) {
    EXPECT_FALSE(address_counts(0, 1'000'000, 1).on());
}

TEST(address_counts, agree_with_a_map) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        constexpr std::size_t open_max = 40;
        address_counts counts(3, open_max, seed);
        std::map<unsigned, unsigned> model;
        std::vector<unsigned> open;
        std::mt19937_64 random(seed);
        for (int step = 0; step < 2000; ++step) {
            if (open.size() < open_max && random() % 2) {
                auto const client = static_cast<unsigned>(random() % 30);
                bool const may = model[client] < 3;
                ASSERT_EQ(counts.enter(numbered(client)), may);
                if (may) ++model[client], open.push_back(client);
            } else if (!open.empty()) {
                std::swap(open[random() % open.size()], open.back());
                counts.leave(numbered(open.back()));
                --model[open.back()];
                open.pop_back();
            }
        }
    }
}

TEST(address_counts, are_exact_between_threads) {
    address_counts counts(100, 1000, 1);
    std::array<int, 4> entered{};
    std::vector<std::thread> threads;
    for (auto& mine : entered)
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i) mine += counts.enter(numbered(7));
        });
    for (auto& each : threads) each.join();
    EXPECT_EQ(entered[0] + entered[1] + entered[2] + entered[3], 100);
}

}  // namespace
}  // namespace latchkey::server
