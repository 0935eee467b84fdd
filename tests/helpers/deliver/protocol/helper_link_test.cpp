#include "helpers/deliver/protocol/helper_link.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>

#include "base/time_units.hpp"

namespace latchkey::deliver::protocol {
namespace {

struct conversation {
    conversation() {
        auto sockets = kit::make_socket_pair();
        link = std::make_unique<helper_link>(std::move(sockets->first));
        helper = std::make_unique<kit::channel>(std::move(sockets->second));
    }
    void say(message const& content) {
        ASSERT_TRUE(helper->send(encode(content), base::read_mono() + 10 * base::second));
    }
    // The next message, if there is one.
    std::optional<message> hear() const {
        auto const bytes = helper->receive();
        if (!bytes || !*bytes) return std::nullopt;
        auto content = decode(**bytes);
        return content ? std::optional(std::move(*content)) : std::nullopt;
    }
    // A helper that says hello is told to begin.
    void start(std::uint64_t session) {
        say(hello{protocol_version, session});
        ASSERT_TRUE(link->turn());
    }

    std::unique_ptr<helper_link> link;
    std::unique_ptr<kit::channel> helper;
};

TEST(helper_links, begin_nothing_before_there_is_a_helper) {
    conversation talk;
    EXPECT_EQ(talk.link->capacity(), 0);
    ASSERT_TRUE(talk.link->turn());
    EXPECT_EQ(talk.link->capacity(), 0);
    talk.start(5);
    EXPECT_EQ(talk.link->capacity(), attempts_max);
    EXPECT_TRUE(talk.hear() == message(begin{5}));
}

TEST(helper_links, give_each_result_once) {
    conversation talk;
    talk.start(5);
    talk.link->begin({.number = 7, .url = "https://a.example"});
    talk.link->begin({.number = 8, .url = "https://b.example"});
    EXPECT_EQ(talk.link->in_flight(), 2);
    ASSERT_TRUE(talk.link->turn());
    EXPECT_TRUE(talk.hear() == message(begin{5}));
    EXPECT_EQ(std::get<attempt>(*talk.hear()).url, "https://a.example");
    EXPECT_EQ(std::get<attempt>(*talk.hear()).number, 8);
    for (std::uint64_t const number : {8, 8, 99}) talk.say(result{.number = number, .status = 204});
    auto const arrivals = talk.link->turn();
    ASSERT_TRUE(arrivals);
    ASSERT_EQ(arrivals->results.size(), 1);
    EXPECT_EQ(arrivals->results[0].number, 8);
    EXPECT_EQ(arrivals->results[0].status, 204);
    EXPECT_TRUE(arrivals->lost_ids.empty());
    EXPECT_EQ(talk.link->in_flight(), 1);
}

TEST(helper_links, tell_what_is_lost_with_a_helper) {
    conversation talk;
    talk.start(5);
    for (std::uint64_t const number : {1, 2, 3}) talk.link->begin({.number = number, .url = "u"});
    ASSERT_TRUE(talk.link->turn());
    talk.say(result{.number = 2, .status = 200});  // its last word
    talk.say(hello{protocol_version, 6});
    talk.link->begin({.number = 4, .url = "u"});  // not sent yet
    auto const arrivals = talk.link->turn();
    ASSERT_TRUE(arrivals);
    ASSERT_EQ(arrivals->results.size(), 1);
    EXPECT_EQ(arrivals->results[0].number, 2);
    auto lost_ids = arrivals->lost_ids;
    std::ranges::sort(lost_ids);
    EXPECT_EQ(lost_ids, (std::vector<std::uint64_t>{1, 3, 4}));
    EXPECT_EQ(talk.link->in_flight(), 0);
    // What was sent to the first helper comes before the `begin` of the second, which drops it.
    EXPECT_TRUE(talk.hear() == message(begin{5}));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::holds_alternative<attempt>(*talk.hear()));
    EXPECT_TRUE(talk.hear() == message(begin{6}));
    EXPECT_FALSE(talk.hear());
    // The numbers may be used again.
    talk.link->begin({.number = 1, .url = "u"});
    EXPECT_EQ(talk.link->in_flight(), 1);
}

TEST(helper_links, take_no_more_than_the_helper_does) {
    conversation talk;
    talk.start(5);
    attempt big{.number = 0, .url = "u", .body = std::string(4 * base::limits::mib, 'x')};
    while (talk.link->capacity() > 0) {
        ++big.number;
        talk.link->begin(big);
        ASSERT_TRUE(talk.link->turn());
    }
    EXPECT_EQ(big.number, attempts_bytes_max / big.body.size());
    EXPECT_EQ(talk.link->events(), POLLIN | POLLOUT);
    std::uint64_t count = 0;
    while (count < big.number) {
        auto const content = talk.hear();
        if (!content) ASSERT_TRUE(talk.link->turn());
        if (content && std::holds_alternative<attempt>(*content)) ++count;
    }
    ASSERT_TRUE(talk.link->turn());
    EXPECT_EQ(talk.link->events(), POLLIN);
    EXPECT_EQ(talk.link->capacity(), 0);
    talk.say(result{.number = 1, .status = 200});
    ASSERT_TRUE(talk.link->turn());
    EXPECT_EQ(talk.link->capacity(), attempts_max - count + 1);
}

TEST(helper_links, begin_so_many_at_most) {
    conversation talk;
    talk.start(5);
    for (std::uint64_t number = 1; number <= attempts_max; ++number) {
        EXPECT_EQ(talk.link->capacity(), attempts_max - number + 1);
        talk.link->begin({.number = number, .url = "u"});
    }
    EXPECT_EQ(talk.link->capacity(), 0);
}

TEST(helper_links, end_with_the_supervisor_another_version_or_nonsense) {
    conversation closed_link;
    closed_link.helper.reset();
    EXPECT_FALSE(closed_link.link->turn());
    conversation other;
    other.say(hello{protocol_version + 1, 5});
    auto const refusal = other.link->turn();
    ASSERT_FALSE(refusal);
    EXPECT_NE(refusal.error().message.find("another version"), std::string::npos);
    conversation reversed;
    reversed.say(attempt{.number = 1, .url = "u"});
    EXPECT_FALSE(reversed.link->turn());
    conversation broken;
    ASSERT_TRUE(broken.helper->send("\x01", base::read_mono() + base::second));
    EXPECT_FALSE(broken.link->turn());
}

}  // namespace
}  // namespace latchkey::deliver::protocol
