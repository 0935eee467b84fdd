#include "helpers/kit/hello.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace latchkey::kit {
namespace {

struct note {
    std::string text;
};
struct wish {};
using message = std::variant<hello, begin, note, wish>;

struct layout : hello_layout {
    using hello_layout::walk;
    static void walk(auto& archive, is<note> auto& message) { archive(bounded{message.text, 3}); }
};

std::string encode(message const& content) {
    return codec<layout, std::uint16_t>::encode(content, 0);
}
base::result<message> decode(std::string_view bytes) {
    message content;
    auto const result = codec<layout, std::uint16_t>::decode(bytes, content);
    if (!result) return result.error();
    return content;
}

class helper_channels : public testing::Test {
  protected:
    void say(message const& content) {
        service_->queue(encode(content));
        EXPECT_TRUE(service_->flush());
    }
    // False: the conversation has ended.
    bool listen() {
        return helper_.receive(decode, [this](message&& content) {
            if (!helper_.admits(content)) return true;
            auto const* const note = std::get_if<kit::note>(&content);
            if (note != nullptr) texts_.push_back(note->text);
            return note != nullptr;
        });
    }

    std::pair<base::descriptor, base::descriptor> ends_ = *make_socket_pair();
    std::optional<channel> service_{std::move(ends_.first)};
    helper_channel helper_{std::move(ends_.second), 7};
    std::vector<std::string> texts_;
};

TEST_F(helper_channels, drop_what_was_meant_for_an_earlier_helper) {
    EXPECT_EQ(helper_.greeting(5), (hello{5, 7}));
    say(note{"a"});
    say(begin{6});
    say(wish{});
    say(begin{7});
    say(note{"b"});
    EXPECT_TRUE(listen());
    EXPECT_EQ(texts_, std::vector<std::string>{"b"});
    EXPECT_TRUE(helper_.outcome());
}

TEST_F(helper_channels, end_without_an_error_when_the_service_does) {
    say(begin{7});
    say(note{"a"});
    service_.reset();
    EXPECT_FALSE(listen());
    EXPECT_EQ(texts_.size(), 1);
    EXPECT_TRUE(helper_.outcome());
}

TEST_F(helper_channels, end_at_a_message_that_the_service_does_not_send) {
    say(begin{7});
    say(wish{});
    say(note{"a"});
    EXPECT_FALSE(listen());
    EXPECT_TRUE(texts_.empty());
    EXPECT_EQ(helper_.outcome().error().message, "a message that the service does not send");
}

TEST_F(helper_channels, end_at_bytes_that_are_no_message) {
    say(note{"four"});
    EXPECT_FALSE(listen());
    EXPECT_EQ(helper_.outcome().error().message, "a message of type 2 has a wrong form");
    EXPECT_FALSE(listen());
}

TEST_F(helper_channels, keep_the_first_reason) {
    EXPECT_FALSE(helper_.fail("one"));
    EXPECT_FALSE(helper_.fail("two"));
    EXPECT_EQ(helper_.outcome().error().message, "one");
}

}  // namespace
}  // namespace latchkey::kit
