#include "helpers/trace/protocol/span_ring.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace latchkey::trace::protocol {
namespace {

span numbered(std::uint64_t number) {
    span value;
    value.key_id = number;
    return value;
}

TEST(span_ring, gives_spans_in_their_order_and_drops_what_does_not_fit) {
    span_ring ring;
    for (std::uint64_t i = 0; i < span_ring::capacity; ++i) EXPECT_TRUE(ring.push(numbered(i)));
    EXPECT_FALSE(ring.push(numbered(0)));
    EXPECT_EQ(ring.losses(), 1u);
    std::uint64_t next = 0;
    auto const check = [&](span const& each) { EXPECT_EQ(each.key_id, next++); };
    EXPECT_EQ(ring.take(10, check), 10u);
    EXPECT_TRUE(ring.push(numbered(span_ring::capacity)));
    EXPECT_EQ(ring.take(2 * span_ring::capacity, check), span_ring::capacity - 9);
    EXPECT_EQ(ring.take(1, check), 0u);
}

TEST(span_ring, loses_none_between_two_threads_but_those_that_it_counts) {
    constexpr std::uint64_t count = 200'000;
    span_ring ring;
    std::thread producer([&] {
        for (std::uint64_t i = 1; i <= count; ++i) ring.push(numbered(i));
    });
    std::uint64_t taken_count = 0, last = 0;
    auto const check = [&](span const& each) {
        EXPECT_GT(each.key_id, last);
        last = each.key_id;
        ++taken_count;
    };
    while (taken_count + ring.losses() < count) ring.take(64, check);
    producer.join();
    EXPECT_EQ(taken_count + ring.losses(), count);
}

TEST(span, keeps_as_much_of_a_request_id_as_fits) {
    span value;
    value.set_request_id("req_1");
    EXPECT_EQ(value.request_id(), "req_1");
    value.set_request_id(std::string(100, 'x'));
    EXPECT_EQ(value.request_id(), std::string(64, 'x'));
}

}  // namespace
}  // namespace latchkey::trace::protocol
