#include "helpers/kit/channel.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "base/bytes.hpp"
#include "base/time_units.hpp"

namespace latchkey::kit {
namespace {

base::mono_ns soon() {
    return base::read_mono() + 10 * base::second;
}

std::string packet(std::uint32_t whole, std::uint32_t place, std::string_view part) {
    std::string bytes;
    base::append(bytes, whole);
    base::append(bytes, place);
    return bytes.append(part);
}

class pair_test : public testing::Test {
  protected:
    void put(std::string const& bytes) {
        ASSERT_EQ(::send(raw_.get(), bytes.data(), bytes.size(), 0),
                  static_cast<ssize_t>(bytes.size()));
    }

    std::pair<base::descriptor, base::descriptor> ends_ = *make_socket_pair();
    base::descriptor raw_ = std::move(ends_.first);
    channel channel_{std::move(ends_.second)};
};

TEST(channel_test, messages_of_all_sizes_arrive_whole_and_in_order) {
    auto ends = *make_socket_pair();
    channel left(std::move(ends.first)), right(std::move(ends.second));
    std::vector<std::size_t> const sizes{
        1,       100,     65'527,           65'528, 65'529,           65'536,
        131'056, 131'057, 3u * 1024 * 1024, 7,      message_bytes_max};
    std::thread sender([&] {
        for (auto const size : sizes)
            EXPECT_TRUE(left.send(std::string(size, static_cast<char>(size)), soon()));
    });
    for (auto const size : sizes) {
        auto const arrival = right.receive_until(soon());
        ASSERT_TRUE(arrival) << arrival.error().message;
        ASSERT_TRUE(*arrival);
        EXPECT_TRUE(**arrival == std::string(size, static_cast<char>(size))) << size;
    }
    sender.join();
    EXPECT_FALSE(*right.receive());
}

// What a database or a store holds may be larger than anybody thought: that ends a channel, and not
// the process.
TEST(channel_test, messages_beyond_the_bound_are_an_error_of_the_channel) {
    for (auto const size : {std::size_t{0}, message_bytes_max + 1}) {
        auto ends = *make_socket_pair();
        channel left(std::move(ends.first)), right(std::move(ends.second));
        left.queue("before");
        left.queue(std::string(size, 'x'));
        left.queue("behind");
        EXPECT_FALSE(left.flush()) << size;
        EXPECT_FALSE(left.flush()) << size;
        EXPECT_FALSE(left.send("another", soon())) << size;
        left.drop_unsent();
        EXPECT_TRUE(left.send("anew", soon())) << size;
        EXPECT_EQ(**right.receive_until(soon()), "anew") << size;
    }
}

TEST(channel_test, without_blocking_a_full_socket_leaves_the_rest_queued) {
    auto ends = *make_socket_pair();
    channel left(std::move(ends.first)), right(std::move(ends.second));
    std::string const big(8u * 1024 * 1024, 'b');
    left.queue(big);
    left.queue("after");
    EXPECT_FALSE(*left.flush());
    EXPECT_GT(left.unsent_bytes(), 0u);
    std::vector<std::string> arrivals;
    while (arrivals.size() < 2) {
        auto arrival = *right.receive();
        if (arrival) arrivals.push_back(std::move(*arrival));
        ASSERT_TRUE(left.flush());
    }
    EXPECT_TRUE(arrivals[0] == big);
    EXPECT_EQ(arrivals[1], "after");
    EXPECT_EQ(left.unsent_bytes(), 0u);
}

TEST(channel_test, deadlines_end_the_blocking_forms) {
    auto ends = *make_socket_pair();
    channel left(std::move(ends.first)), right(std::move(ends.second));
    EXPECT_FALSE(*right.receive_until(base::read_mono() + 20 * base::millisecond));
    EXPECT_FALSE(
        left.send(std::string(message_bytes_max, 'x'), base::read_mono() + base::millisecond));
}

TEST(channel_test, a_closed_socket_is_an_error) {
    auto ends = *make_socket_pair();
    channel left(std::move(ends.first));
    ends.second.close();
    EXPECT_FALSE(left.receive());
    left.queue("x");
    EXPECT_FALSE(left.flush());
}

TEST(channel_test, what_is_queued_can_be_dropped_amid_a_message) {
    auto ends = *make_socket_pair();
    channel left(std::move(ends.first)), right(std::move(ends.second));
    left.queue(std::string(8u * 1024 * 1024, 'b'));
    EXPECT_FALSE(*left.flush());
    left.drop_unsent();
    EXPECT_EQ(left.unsent_bytes(), 0u);
    std::thread sender([&] { EXPECT_TRUE(left.send("next", soon())); });
    EXPECT_EQ(**right.receive_until(soon()), "next");
    sender.join();
}

TEST_F(pair_test, a_packet_at_place_0_begins_anew) {
    put(packet(10, 0, "half"));
    put(packet(3, 0, "new"));
    EXPECT_EQ(**channel_.receive(), "new");
}

TEST_F(pair_test, the_rest_of_a_message_for_an_earlier_process_is_skipped) {
    put(packet(10, 4, "middle"));
    put(packet(3, 0, "new"));
    EXPECT_EQ(**channel_.receive(), "new");
}

TEST_F(pair_test, a_message_in_parts_is_put_together) {
    put(packet(6, 0, "one"));
    EXPECT_FALSE(*channel_.receive());
    put(packet(6, 3, "two"));
    EXPECT_EQ(**channel_.receive(), "onetwo");
}

TEST_F(pair_test, a_packet_that_does_not_continue_is_refused) {
    put(packet(10, 0, "half"));
    put(packet(10, 5, "x"));
    EXPECT_FALSE(channel_.receive());
}

TEST_F(pair_test, a_packet_of_another_size_is_refused) {
    put(packet(10, 0, "half"));
    put(packet(11, 4, "x"));
    EXPECT_FALSE(channel_.receive());
}

TEST_F(pair_test, sizes_that_make_no_sense_are_refused) {
    for (auto const& each :
         {packet(3, 0, "four"), packet(0, 0, ""), packet(5, 0, ""), packet(5, 5, "x"),
          packet(5, 4, "xx"), packet(message_bytes_max + 1, 0, "x"), packet(~0u, 0, "x"),
          packet(~0u, ~0u, "x"), packet(5, ~0u, "xxxxxxxxx"), std::string("short")}) {
        auto ends = *make_socket_pair();
        channel receiver(std::move(ends.second));
        ASSERT_GT(::send(ends.first.get(), each.data(), each.size(), 0), 0);
        EXPECT_FALSE(receiver.receive()) << base::to_hex(each);
    }
}

TEST_F(pair_test, a_packet_beyond_its_bound_is_refused) {
    put(packet(100'000, 0, std::string(packet_bytes_max, 'x')));
    EXPECT_FALSE(channel_.receive());
}

}  // namespace
}  // namespace latchkey::kit
