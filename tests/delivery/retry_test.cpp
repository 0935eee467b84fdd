#include "delivery/retry.hpp"

#include <gtest/gtest.h>

#include <set>

#include "delivery/pace.hpp"
#include "model/message_id.hpp"

namespace latchkey::delivery {

TEST(retry, pauses_are_those_of_the_contract_with_up_to_a_tenth_more) {
    jitter jitter(7);
    constexpr base::wall_ms minute = 60'000, hour = 60 * minute;
    std::vector<base::wall_ms> const pauses = {5000,      5 * minute, 30 * minute,
                                               2 * hour,  5 * hour,   10 * hour,
                                               14 * hour, 20 * hour,  24 * hour};
    for (unsigned attempts = 1; attempts <= pauses.size(); ++attempts) {
        std::set<base::wall_ms> values;
        for (int i = 0; i < 1000; ++i) {
            auto const pause = retry_pause(attempts, 0, jitter).value();
            EXPECT_GE(pause, pauses[attempts - 1]);
            EXPECT_LE(pause, pauses[attempts - 1] * 11 / 10);
            values.insert(pause);
        }
        EXPECT_GT(values.size(), 100);
    }
    EXPECT_EQ(retry_pause(10, 0, jitter), std::nullopt);
    EXPECT_EQ(retry_pause(200, 60, jitter), std::nullopt);
}

TEST(retry, longer_wish_of_the_receiver_counts_up_to_a_day) {
    jitter jitter(7);
    EXPECT_EQ(retry_pause(1, 60, jitter), 60'000);
    EXPECT_LE(retry_pause(1, 2, jitter), 5500);
    EXPECT_EQ(retry_pause(1, 7 * 24 * 3600, jitter), 24 * 3600 * 1000);
    EXPECT_GE(retry_pause(9, 60, jitter), 24 * 3600 * 1000);
}

TEST(message_id, has_sequence_and_time) {
    EXPECT_EQ(model::message_id(42, 1'700'000'000'000), model::message_id(42, 1'700'000'000'000));
    EXPECT_EQ(model::message_id(42, 1'700'000'000'000).substr(0, 7), "msg_42_");
    EXPECT_EQ(model::message_id(42, 1'700'000'000'000).size(), 15);
    EXPECT_NE(model::message_id(42, 1'700'000'000'000), model::message_id(42, 1'700'000'000'001));
}

TEST(pace, second_has_no_more_than_its_limit) {
    for (std::uint32_t const limit : {1U, 3U, 20U, 1000U, 10'000U}) {
        pace pace;
        pace.limit(limit);
        auto now = 1'000'000 * base::second;
        std::uint32_t count = 0;
        for (auto const end = now + 10 * base::second; now < end; now += base::millisecond)
            for (; pace.next() <= now; pace.spend(now)) ++count;
        EXPECT_GE(count, 10 * limit * 99 / 100);
        EXPECT_LE(count, 10 * limit + std::max(1U, limit / 20));
    }
    pace free;
    EXPECT_LE(free.next(), 0);
    free.spend(5);
    EXPECT_LE(free.next(), 5);
}

}  // namespace latchkey::delivery
