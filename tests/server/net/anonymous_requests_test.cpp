#include "server/net/anonymous_requests.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace latchkey::server {
namespace {

constexpr std::size_t waiting_max = anonymous_requests::count_max;
constexpr std::size_t one_body = base::limits::credential_body_bytes_max;

struct awaited : anonymous_requests::entry {
    awaited() {
        drop = [](anonymous_requests::entry& self) {
            ++static_cast<awaited&>(self).times_given_up;
        };
    }
    int times_given_up = 0;
};

struct anonymous : testing::Test {
    anonymous_requests all;
    std::deque<awaited> requests;

    awaited& enter(std::optional<model::address> const& client = std::nullopt) {
        all.enter(requests.emplace_back(), client);
        return requests.back();
    }
    std::size_t given_up() const {
        std::size_t count = 0;
        for (auto const& each : requests) count += static_cast<std::size_t>(each.times_given_up);
        return count;
    }
};

TEST_F(anonymous, beyond_their_number_the_longest_waiting_go) {
    constexpr std::size_t beyond = 3000;
    for (std::size_t i = 0; i < waiting_max + beyond; ++i) enter();
    EXPECT_EQ(all.count(), waiting_max);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(requests[i].times_given_up, i < beyond ? 1 : 0) << i;
        EXPECT_EQ(requests[i].waits, i >= beyond) << i;
    }
    EXPECT_FALSE(all.hold(requests.front(), 1)) << "it is not waited for any more";
    EXPECT_TRUE(all.hold(requests.back(), 1));
}

TEST_F(anonymous, beyond_their_bytes_the_longest_waiting_go) {
    all.set_bytes_max(4 * one_body);
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(all.hold(enter(), one_body));
    auto& small = enter();
    EXPECT_EQ(given_up(), 0u) << "what is announced does not count";
    EXPECT_TRUE(all.hold(small, 100));
    EXPECT_EQ(requests[0].times_given_up, 1);
    EXPECT_EQ(given_up(), 1u);
    EXPECT_EQ(all.bytes(), 3 * one_body + 100);
    // It grows, which counts once.
    EXPECT_TRUE(all.hold(small, one_body));
    EXPECT_EQ(given_up(), 1u);
    EXPECT_EQ(all.bytes(), 4 * one_body);
}

TEST_F(anonymous, the_longest_waiting_goes_when_it_is_the_one_that_grows) {
    all.set_bytes_max(2 * one_body);
    auto& first = enter();
    EXPECT_TRUE(all.hold(first, 1));
    EXPECT_TRUE(all.hold(enter(), one_body));
    EXPECT_TRUE(all.hold(enter(), one_body - 1));
    EXPECT_FALSE(all.hold(first, 2));
    EXPECT_FALSE(first.waits);
    EXPECT_EQ(given_up(), 0u) << "it was told by the answer";
    EXPECT_EQ(all.count(), 2u);
    EXPECT_EQ(all.bytes(), 2 * one_body - 1);
}

// Two parties: one begins requests faster than the other one's body can arrive.
TEST_F(anonymous, of_the_client_with_most_go_first) {
    auto const hasty = model::address::parse("192.0.2.1"),
               other = model::address::parse("198.51.100.7");
    auto& slow = enter(other);
    for (std::size_t i = 0; i < 5 * waiting_max; ++i) enter(hasty);
    EXPECT_TRUE(slow.waits);
    EXPECT_EQ(all.count(), waiting_max);
    all.set_bytes_max(4 * one_body);
    EXPECT_TRUE(all.hold(slow, one_body));
    for (int i = 0; i < 20; ++i) all.hold(enter(hasty), one_body / 2);
    EXPECT_TRUE(slow.waits) << "nor do the other one's bytes take its place";
    EXPECT_TRUE(all.hold(slow, one_body));
    EXPECT_LE(all.bytes(), 4 * one_body);
}

// Two parties: one has all addresses of a network, of which no address has much.
TEST_F(anonymous, count_for_the_network_of_their_client) {
    auto const neighbour = [&](std::size_t i) {
        return model::address::parse("2001:db8:0:1::" + std::to_string(i % 9000));
    };
    auto const other = model::address::parse("2001:db8:0:2::1");
    std::vector<awaited*> own;
    for (int i = 0; i < 20; ++i) own.push_back(&enter(other));
    for (std::size_t i = 0; i < 5 * waiting_max; ++i) enter(neighbour(i));
    EXPECT_TRUE(std::ranges::all_of(own, &awaited::waits));
    all.set_bytes_max(4 * one_body);
    for (auto* const each : own) EXPECT_TRUE(all.hold(*each, one_body / 20));
    for (std::size_t i = 0; i < 80; ++i) all.hold(enter(neighbour(i)), one_body / 10);
    EXPECT_TRUE(std::ranges::all_of(own, &awaited::waits)) << "nor do bytes take their places";
}

TEST_F(anonymous, leave_from_anywhere_and_nothing_is_left) {
    constexpr int count = 7;
    for (int i = 0; i < count; ++i) EXPECT_TRUE(all.hold(enter(), 10));
    for (std::size_t const i : {3u, 0u, 6u, 5u, 1u, 2u, 4u}) {
        all.leave(requests[i]);
        all.leave(requests[i]);
        EXPECT_FALSE(requests[i].waits);
    }
    EXPECT_EQ(all.count(), 0u);
    EXPECT_EQ(all.bytes(), 0u);
    EXPECT_TRUE(all.hold(enter(), one_body));
    EXPECT_EQ(given_up(), 0u);
}

}  // namespace
}  // namespace latchkey::server
