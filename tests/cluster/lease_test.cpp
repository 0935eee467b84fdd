#include "cluster/lease.hpp"

#include <gtest/gtest.h>

namespace latchkey::cluster {
namespace {

using base::second;

TEST(leases_of_a_node, count_from_before_the_renewal_was_asked_for) {
    lease lease(30 * second);
    EXPECT_EQ(lease.end_time(), 0);
    lease.renew(100 * second, 0);
    EXPECT_EQ(lease.end_time(), 130 * second);
}

TEST(leases_of_a_node, begin_once_the_head_of_their_renewal_is_applied) {
    lease lease(30 * second);
    lease.reach(4);
    lease.renew(100 * second, 7);
    EXPECT_EQ(lease.end_time(), 0);
    lease.reach(6);
    EXPECT_EQ(lease.end_time(), 0);
    lease.reach(7);
    EXPECT_EQ(lease.end_time(), 130 * second);
}

TEST(leases_of_a_node, last_to_their_end_while_a_renewal_waits_for_its_head) {
    lease lease(30 * second);
    lease.renew(100 * second, 0);
    lease.renew(105 * second, 9);
    EXPECT_EQ(lease.end_time(), 130 * second);
    lease.reach(9);
    EXPECT_EQ(lease.end_time(), 135 * second);
}

TEST(leases_of_a_node, do_not_wait_for_rows_that_the_engine_has_lost) {
    lease lease(30 * second);
    lease.renew(100 * second, 6);
    lease.renew(105 * second, 4);
    lease.reach(4);
    EXPECT_EQ(lease.end_time(), 135 * second);
}

TEST(leases_of_a_node, take_effect_in_the_order_of_their_heads) {
    lease lease(30 * second);
    lease.renew(100 * second, 5);
    lease.renew(110 * second, 8);
    lease.reach(5);
    EXPECT_EQ(lease.end_time(), 130 * second);
    lease.reach(100);
    EXPECT_EQ(lease.end_time(), 140 * second);
}

TEST(leases_of_a_node, never_become_shorter_by_a_late_answer) {
    lease lease(30 * second);
    lease.renew(110 * second, 0);
    lease.renew(100 * second, 0);
    EXPECT_EQ(lease.end_time(), 140 * second);
}

TEST(leases_of_a_node, are_over_when_it_leaves) {
    lease lease(30 * second);
    lease.renew(100 * second, 0);
    lease.renew(105 * second, 3);
    lease.end();
    EXPECT_EQ(lease.end_time(), 0);
    lease.reach(3);
    EXPECT_EQ(lease.end_time(), 0);
}

}  // namespace
}  // namespace latchkey::cluster
