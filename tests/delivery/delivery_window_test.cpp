#include "delivery/delivery_window.hpp"

#include <gtest/gtest.h>

namespace latchkey::delivery {

constexpr auto type = model::change_type::user_created;

TEST(delivery_window, position_stays_before_what_is_not_handled) {
    delivery_window window(10);
    EXPECT_EQ(window.position(), 10);
    for (model::id const sequence : {11, 13, 14}) window.add(sequence, type);
    window.look_past(20);
    EXPECT_EQ(window.position(), 10);
    EXPECT_EQ(window.last(), 20);
    for (int i = 0; i < 3; ++i) window.fly(*window.first_ready());
    EXPECT_EQ(window.first_ready(), nullptr);
    window.handle(*window.find(13));
    EXPECT_EQ(window.position(), 10);
    EXPECT_EQ(window.find(13), nullptr);
    window.handle(*window.find(11));
    EXPECT_EQ(window.position(), 13);
    EXPECT_EQ(window.size(), 1);
    window.handle(*window.find(14));
    EXPECT_EQ(window.position(), 20);
}

TEST(delivery_window, what_is_given_back_is_the_first_one_that_is_ready) {
    delivery_window window(0);
    for (model::id sequence = 1; sequence <= 4; ++sequence) window.add(sequence, type);
    window.fly(*window.first_ready());
    window.fly(*window.first_ready());
    EXPECT_EQ(window.first_ready()->sequence, 3);
    window.give_back(*window.find(1));
    EXPECT_EQ(window.first_ready()->sequence, 1);
    window.handle(*window.first_ready());
    EXPECT_EQ(window.first_ready()->sequence, 3);
    EXPECT_EQ(window.position(), 1);
}

TEST(delivery_window, gaps_of_the_feed_are_no_changes) {
    delivery_window window(5);
    window.look_past(7);
    window.add(9, type);
    EXPECT_EQ(window.position(), 8);
    EXPECT_EQ(window.find(8), nullptr);
    EXPECT_EQ(window.find(10), nullptr);
}

}  // namespace latchkey::delivery
