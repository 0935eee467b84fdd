#include "runtime/uring/timers.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace latchkey::uring {
namespace {

constexpr base::mono_ns ms = 1'000'000;

struct recording_timer : timers::entry {
    base::mono_ns fired_at = 0;
    int fired = 0;
    recording_timer() {
        fire = [](timers::entry& self, base::mono_ns now) {
            auto& own = static_cast<recording_timer&>(self);
            ++own.fired;
            own.fired_at = now;
        };
    }
};

TEST(timers, fire_never_early_and_at_most_a_slot_late) {
    std::mt19937_64 random(7);
    base::mono_ns now = 12'345 * ms;
    timers wheel(now);
    std::vector<std::unique_ptr<recording_timer>> entries;
    std::vector<base::mono_ns> deadlines;
    for (int i = 0; i < 2000; ++i) {
        entries.push_back(std::make_unique<recording_timer>());
        // Up to twice the span of the wheel.
        deadlines.push_back(now + static_cast<base::mono_ns>(random() % 131'000) * ms);
        wheel.arm(*entries.back(), deadlines.back());
    }
    for (int step = 0; step < 200'000 / 10; ++step) {
        now += 10 * ms;
        wheel.expire(now);
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
        ASSERT_EQ(entries[i]->fired, 1);
        ASSERT_GE(entries[i]->fired_at, deadlines[i]);
        ASSERT_LE(entries[i]->fired_at, deadlines[i] + 75 * ms);
    }
}

TEST(timers, move_later_and_earlier) {
    timers wheel(0);
    recording_timer later, earlier, disarmed;
    wheel.arm(later, 100 * ms);
    wheel.arm(later, 500 * ms);
    wheel.arm(earlier, 500 * ms);
    wheel.arm(earlier, 100 * ms);
    wheel.arm(disarmed, 100 * ms);
    wheel.arm(disarmed, 0);
    wheel.expire(200 * ms);
    EXPECT_EQ(later.fired, 0);
    EXPECT_EQ(earlier.fired, 1);
    wheel.expire(600 * ms);
    EXPECT_EQ(later.fired, 1);
    EXPECT_EQ(earlier.fired, 1);
    EXPECT_EQ(disarmed.fired, 0);
    EXPECT_EQ(wheel.next(), 0);
}

TEST(timers, report_the_next_deadline) {
    timers wheel(0);
    recording_timer soon, late;
    EXPECT_EQ(wheel.next(), 0);
    wheel.arm(late, 60'000 * ms);
    EXPECT_GE(wheel.next(), 60'000 * ms);
    wheel.arm(soon, 1000 * ms);
    EXPECT_GE(wheel.next(), 1000 * ms);
    EXPECT_LE(wheel.next(), 1064 * ms);
    wheel.remove(soon);
    EXPECT_GE(wheel.next(), 60'000 * ms);
}

TEST(timers, may_be_removed_and_armed_while_they_fire) {
    struct chained : timers::entry {
        timers* wheel = nullptr;
        timers::entry* victim = nullptr;
        int fired = 0;
    } first;
    timers wheel(0);
    recording_timer victim;
    first.wheel = &wheel;
    first.victim = &victim;
    first.fire = [](timers::entry& self, base::mono_ns now) {
        auto& own = static_cast<chained&>(self);
        if (++own.fired == 1) {
            own.wheel->remove(*own.victim);
            own.wheel->arm(own, now + 1);
        }
    };
    wheel.arm(victim, 10 * ms);
    wheel.arm(first, 10 * ms);  // in front of the victim in the same slot
    wheel.expire(100 * ms);
    EXPECT_EQ(first.fired, 1);
    EXPECT_EQ(victim.fired, 0);
    wheel.expire(300 * ms);
    EXPECT_EQ(first.fired, 2);
}

TEST(timers, survive_a_long_pause) {
    timers wheel(0);
    recording_timer entry;
    wheel.arm(entry, 5000 * ms);
    wheel.expire(10'000'000 * ms);
    EXPECT_EQ(entry.fired, 1);
}

}  // namespace
}  // namespace latchkey::uring
