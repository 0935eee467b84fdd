// What an HTTP/2 client has the service hold: all of it is counted, goes back, and is judged.
#include <gtest/gtest.h>

#include "http2_conversation.hpp"
#include "http2_reader.hpp"
#include "http2_script.hpp"

namespace latchkey::session {
namespace {

using namespace script;

constexpr base::mono_ns second = 1'000'000'000;

class http2_memory : public api::api_test {
  protected:
    http2_memory() {
        for (int i = 0; i < 40; ++i) service.add_user("Ada", std::to_string(i) + "@example.com");
    }
    void begin(std::string const& settings = settings_of()) {
        receive(std::string(h2::preface) + settings + settings_ack());
        (void)reader.events();
    }
    void receive(std::string_view bytes) {
        reader.expect_acknowledgements(bytes);
        server.receive(bytes);
        reader.read(server.take_output());
    }
    std::string list(std::uint32_t stream) const {
        return headers(stream, block(one.get_fields_but(":path", "/api/v1/users?limit=100")));
    }
    // Lets a second pass, and what has its time then.
    void pass() {
        server.pass(second);
        if (server.wait_deadline() <= server.server.now.mono) server.wake(wake_reason::late);
        reader.read(server.take_output());
    }

    http2_conversation server{service};
    http2_reader reader;
    client one{service.key};
};

TEST_F(http2_memory, counts_a_header_block_that_goes_on) {
    begin();
    auto const whole = block(one.get_fields()) + literal("x-long", std::string(12'000, 'x'));
    receive(headers(1, whole.substr(0, 40), flag::end_stream) +
            continuation(1, whole.substr(40, 9000), 0));
    EXPECT_GE(server.held_bytes(), 9000u);
    receive(continuation(1, whole.substr(9040)));
    EXPECT_EQ(reader.events(), "1: 200");
    EXPECT_EQ(server.held_bytes(), 0u);
}

TEST_F(http2_memory, counts_the_tables_of_header_fields) {
    begin();
    EXPECT_EQ(server.table_bytes(), 0u);
    receive(headers(1, block(one.get_fields()), whole_block));
    auto const own = server.table_bytes();
    EXPECT_GT(own, 0u) << "of the answers";
    receive(headers(3, block(one.get_fields()) + literal("x-a", "b", retention::in_table),
                    whole_block));
    auto const both = server.table_bytes();
    EXPECT_GT(both, own) << "of the requests too";
    EXPECT_LT(both, 8192u) << "they are small while they have few fields";
    std::string const value(3900, 'v');
    receive(headers(5, block(one.get_fields()) + literal("x-b", value, retention::in_table),
                    whole_block));
    EXPECT_GE(server.table_bytes(), both + value.size());
}

TEST_F(http2_memory, refuses_a_header_block_for_which_there_is_none) {
    begin();
    server.server.overloaded = true;
    auto const whole = block(one.get_fields());
    receive(headers(1, whole.substr(0, 10), flag::end_stream) + continuation(1, "", 0));
    EXPECT_EQ(reader.events(), "GOAWAY ENHANCE_YOUR_CALM");
}

TEST_F(http2_memory, counts_requests_that_wait_and_their_commits) {
    begin();
    server.hold_commits();
    for (std::uint32_t stream = 1; stream < 20; stream += 2) receive(one.post(stream));
    EXPECT_GE(server.held_bytes(), 10 * sizeof(session::stream));
    for (std::uint32_t stream = 1; stream < 20; stream += 2) receive(reset(stream));
    EXPECT_EQ(server.held_bytes(), 0u);
    std::string const text(15'000, 'x');
    auto head = one.post_fields();
    for (auto& [name, value] : head)
        if (name == ":path") value = "/api/v1/posts";
    receive(headers(21, block(head), whole_block) +
            data(21, R"({"user_id":1,"title":"a","body":")" + text + "\"}", flag::end_stream));
    ASSERT_EQ(server.held_commits(), 1u);
    EXPECT_GE(server.held_bytes(), text.size()) << "the command";
    EXPECT_LT(server.held_bytes(), 2 * text.size()) << "and no longer the content";
    server.finish_commits();
    EXPECT_EQ(server.held_bytes(), 0u);
}

// What a frame adds is counted without a look at the other streams, and the sum is the same.
TEST_F(http2_memory, counts_bodies_that_come_byte_by_byte) {
    begin();
    receive(one.post(1) + one.post(3));
    auto const first_bytes = server.held_bytes();
    for (int i = 0; i < 10'000; ++i) receive(data(1 + 2 * (i % 2), " "));
    auto const whole = server.held_bytes();
    EXPECT_GE(whole, first_bytes + 10'000);
    receive(one.post(5));
    receive(reset(5));
    EXPECT_EQ(server.held_bytes(), whole) << "counted anew";
}

TEST_F(http2_memory, a_byte_of_window_now_and_then_is_no_progress) {
    begin(settings_of({{setting::initial_window_size, 0}}));
    receive(list(1));
    ASSERT_EQ(reader.events(), "1: 200 unfinished");
    ASSERT_GT(server.held_bytes(), 4096u);
    int seconds = 0;
    for (; !server.closed() && seconds < 60; ++seconds) {
        receive(window_update(1, 1));
        pass();
    }
    EXPECT_EQ(seconds, 30);
    EXPECT_EQ(reader.events(), "GOAWAY ENHANCE_YOUR_CALM");
}

TEST_F(http2_memory, a_part_of_what_is_held_now_and_then_is_progress) {
    begin(settings_of({{setting::initial_window_size, 0}}));
    receive(list(1));
    auto const whole = server.held_bytes();
    for (int i = 0; i < 50; ++i) {
        if (i % 25 == 0) receive(window_update(1, static_cast<std::uint32_t>(whole / 32)));
        pass();
        ASSERT_FALSE(server.closed()) << i;
    }
    receive(window_update(1, 1 << 20));
    EXPECT_EQ(server.held_bytes(), 0u);
}

}  // namespace
}  // namespace latchkey::session
