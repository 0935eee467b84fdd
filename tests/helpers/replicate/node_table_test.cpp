#include "helpers/replicate/node_table.hpp"

#include <gtest/gtest.h>

#include "base/time_units.hpp"
#include "fake_node.hpp"

namespace latchkey::replicate {
namespace {

using base::second;

constexpr std::uint32_t lease_ms = 30'000;
auto const self = identity_from("self");

node_row line(std::string const& name, std::uint64_t position, std::uint64_t renewal) {
    return {.name = name,
            .instance = identity_from("of " + name),
            .position = position,
            .renewal = renewal,
            .lease_ms = lease_ms};
}

class node_table_test : public testing::Test {
  protected:
    node_table nodes_;
};

TEST_F(node_table_test, a_node_is_waited_for_until_its_lease_has_ended) {
    nodes_.observe({line("two", 4, 1)}, 100 * second);
    auto const waiting = nodes_.confirmation(5, self, 130 * second);
    EXPECT_EQ(waiting.position, 4u);
    EXPECT_EQ(waiting.lease_end, 131 * second);
    EXPECT_EQ(nodes_.confirmation(5, self, 131 * second).position, 5u);
    EXPECT_EQ(nodes_.confirmation(5, self, 131 * second).lease_end, 0);
}

TEST_F(node_table_test, a_renewal_counts_from_when_it_was_seen_first) {
    nodes_.observe({line("two", 4, 1)}, 100 * second);
    nodes_.observe({line("two", 4, 1)}, 120 * second);
    EXPECT_EQ(nodes_.confirmation(5, self, 120 * second).lease_end, 131 * second);
    nodes_.observe({line("two", 4, 2)}, 125 * second);
    EXPECT_EQ(nodes_.confirmation(5, self, 125 * second).lease_end, 156 * second);
}

TEST_F(node_table_test, the_slowest_node_counts_and_this_one_does_not) {
    auto own = line("one", 1, 1);
    own.instance = self;
    nodes_.observe({own, line("two", 4, 1), line("three", 3, 1), line("four", 9, 1)}, 0);
    EXPECT_EQ(nodes_.confirmation(5, self, second).position, 3u);
    EXPECT_EQ(nodes_.confirmation(3, self, second).position, 3u);
    EXPECT_EQ(nodes_.confirmation(3, self, second).lease_end, 0);
}

TEST_F(node_table_test, a_node_that_left_is_not_waited_for) {
    nodes_.observe({line("two", 4, 1)}, 0);
    auto departed = line("two", 4, 1);
    departed.departed = true;
    nodes_.observe({departed}, second);
    EXPECT_EQ(nodes_.confirmation(5, self, second).position, 5u);
    EXPECT_FALSE(nodes_.list(second)[0].alive);
}

TEST_F(node_table_test, another_instance_under_a_name_does_not_end_the_lease_of_the_first) {
    nodes_.observe({line("two", 4, 1)}, 0);
    auto other = line("two", 9, 1);
    other.instance = identity_from("a new directory");
    nodes_.observe({other}, second);
    EXPECT_EQ(nodes_.confirmation(5, self, second).position, 4u);
    EXPECT_EQ(nodes_.list(second).size(), 1u);
    EXPECT_EQ(nodes_.confirmation(5, self, 31 * second).position, 5u);
}

TEST_F(node_table_test, a_shorter_lease_does_not_shorten_the_one_before) {
    nodes_.observe({line("two", 4, 1)}, 0);
    auto joining = line("two", 4, 2);
    joining.lease_ms = 0;
    nodes_.observe({joining}, second);
    EXPECT_EQ(nodes_.confirmation(5, self, 30 * second).position, 4u);
    EXPECT_EQ(nodes_.confirmation(5, self, 31 * second).position, 5u);
}

TEST_F(node_table_test, a_position_that_goes_back_is_believed) {
    nodes_.observe({line("two", 9, 1)}, 0);
    nodes_.observe({line("two", 4, 2)}, second);
    EXPECT_EQ(nodes_.confirmation(5, self, second).position, 4u);
}

TEST_F(node_table_test, the_rows_of_a_joining_node_are_kept_while_it_renews) {
    auto joining = line("two", 4, 1);
    joining.lease_ms = 0;
    nodes_.observe({joining, line("three", 7, 1)}, 0);
    EXPECT_EQ(nodes_.lowest_position(9, second), 4u);
    EXPECT_EQ(nodes_.lowest_position(9, 30 * second), 7u);
    EXPECT_EQ(nodes_.lowest_position(9, 40 * second), 9u);
    EXPECT_EQ(nodes_.confirmation(9, self, second).position, 7u);
}

TEST_F(node_table_test, the_first_living_node_works_for_all) {
    auto const two = identity_from("of two"), three = identity_from("of three");
    nodes_.observe({line("two", 4, 1), line("three", 4, 1)}, 0);
    EXPECT_TRUE(nodes_.is_first(three, second));
    EXPECT_FALSE(nodes_.is_first(two, second));
    nodes_.observe({line("two", 4, 2), line("three", 4, 1)}, 20 * second);
    EXPECT_TRUE(nodes_.is_first(two, 40 * second));
    EXPECT_FALSE(nodes_.is_first(two, 60 * second));
}

}  // namespace
}  // namespace latchkey::replicate
