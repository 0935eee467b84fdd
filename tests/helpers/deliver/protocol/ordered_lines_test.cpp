#include "helpers/deliver/protocol/ordered_lines.hpp"

#include <gtest/gtest.h>

namespace latchkey::deliver::protocol {
namespace {

class ordered_lines_test : public ::testing::Test {
  protected:
    using numbers = std::vector<std::uint64_t>;

    // The attempt that is sent then; 0: none.
    std::uint64_t arrive(std::uint64_t number, std::uint64_t predecessor, std::uint64_t line = 1) {
        attempt attempt{.number = number};
        attempt.line = line;
        attempt.predecessor = predecessor;
        return take(lines.arrive(std::move(attempt), now));
    }
    std::uint64_t finish(std::uint64_t number, bool success = true) {
        return take(lines.finish(number, success, now));
    }
    std::uint64_t take(ordered_lines::step&& step) {
        unsent = step.unsent;
        return step.next ? step.next->number : 0;
    }

    ordered_lines lines;
    base::mono_ns now = base::second;
    numbers unsent;
};

TEST_F(ordered_lines_test, send_each_once_the_one_before_it_was_delivered) {
    EXPECT_EQ(arrive(1, 0), 1);
    EXPECT_EQ(arrive(2, 1), 0);
    EXPECT_EQ(arrive(3, 2), 0);
    EXPECT_EQ(lines.waiting(), 2);
    EXPECT_EQ(finish(1), 2);
    EXPECT_EQ(finish(2), 3);
    EXPECT_EQ(finish(3), 0);
    EXPECT_EQ(lines.waiting(), 0);
    EXPECT_TRUE(unsent.empty());
}

TEST_F(ordered_lines_test, send_at_once_what_comes_after_a_delivery) {
    arrive(1, 0);
    finish(1);
    EXPECT_EQ(arrive(2, 1), 2);
}

TEST_F(ordered_lines_test, give_back_what_waits_for_one_that_fails) {
    arrive(1, 0);
    arrive(2, 1);
    arrive(3, 2);
    EXPECT_EQ(finish(1, false), 0);
    EXPECT_EQ(unsent, (numbers{2, 3}));
    EXPECT_EQ(lines.waiting(), 0);
    EXPECT_EQ(arrive(4, 3), 0);  // was on its way
    EXPECT_EQ(unsent, numbers{4});
    EXPECT_EQ(arrive(5, 0), 5);
}

TEST_F(ordered_lines_test, give_back_what_comes_after_one_that_has_failed) {
    arrive(1, 0);
    finish(1, false);
    EXPECT_EQ(arrive(2, 1), 0);
    EXPECT_EQ(unsent, numbers{2});
}

TEST_F(ordered_lines_test, give_back_what_has_waited_too_long) {
    arrive(1, 0);
    arrive(2, 1);
    arrive(3, 2);
    now += ordered_lines::wait_max;
    EXPECT_EQ(finish(1), 2);
    now += 1;
    EXPECT_EQ(finish(2), 0);
    EXPECT_EQ(unsent, numbers{3});
    EXPECT_EQ(arrive(4, 2), 4);
}

TEST_F(ordered_lines_test, have_one_attempt_each_at_a_time) {
    arrive(1, 0);
    EXPECT_EQ(arrive(2, 3), 0);
    EXPECT_EQ(unsent, numbers{2});
    EXPECT_EQ(arrive(3, 2), 0);
    EXPECT_EQ(unsent, numbers{3});
    EXPECT_EQ(arrive(4, 0, 2), 4);
    EXPECT_EQ(arrive(5, 4, 2), 0);
    EXPECT_EQ(finish(1), 0);
    EXPECT_EQ(finish(4), 5);
}

TEST_F(ordered_lines_test, let_one_that_begins_anew_wait_for_what_was_forgotten) {
    arrive(1, 0);
    EXPECT_EQ(arrive(2, 0), 0);
    EXPECT_TRUE(unsent.empty());
    EXPECT_EQ(arrive(3, 0), 0);
    EXPECT_EQ(unsent, numbers{3});
    EXPECT_EQ(finish(1), 2);
    EXPECT_EQ(arrive(4, 0), 0);
    EXPECT_EQ(finish(2, false), 0);
    EXPECT_EQ(unsent, numbers{4});
}

TEST_F(ordered_lines_test, forget_lines_that_are_empty_and_keep_others) {
    arrive(1, 0, 1);
    arrive(2, 0, 2);
    arrive(3, 2, 2);
    finish(1);
    for (std::uint64_t i = 0; i < ordered_lines::lines_max; ++i) {
        arrive(100 + i, 0, 100 + i);
        finish(100 + i);
    }
    EXPECT_EQ(arrive(4, 1, 1), 0);
    EXPECT_EQ(unsent, numbers{4});
    EXPECT_EQ(finish(2), 3);
}

TEST_F(ordered_lines_test, do_not_mind_attempts_of_no_line) {
    arrive(1, 0);
    arrive(2, 1);
    EXPECT_EQ(finish(99, false), 0);
    EXPECT_TRUE(unsent.empty());
    EXPECT_EQ(finish(1), 2);
}

}  // namespace
}  // namespace latchkey::deliver::protocol
