// What sessions make and keep while memory is short (session::answer_quota): large answers, events,
// and heads that go on.
#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "base/time_units.hpp"
#include "http2_conversation.hpp"
#include "http2_reader.hpp"
#include "http2_script.hpp"

namespace latchkey::session {
namespace {

using namespace script;

// Admits up to so many bytes, and notes who was asked for.
struct fixed_quota : answer_quota {
    std::size_t bytes_max = 0;
    mutable std::vector<std::uint64_t> keys;
    bool admits_answer(std::uint64_t key, std::size_t bytes) const override {
        keys.push_back(key);
        return bytes <= bytes_max;
    }
};

class quota : public api::api_test {
  protected:
    quota() {
        for (int i = 0; i < 40; ++i) service.add_user("Ada", std::to_string(i) + "@example.com");
    }
    static api::lines event_fields(std::string const& key) {
        return {api::bearer(key), "Accept: text/event-stream"};
    }

    fixed_quota room;
};

// ---- HTTP/1.1

class http1_quota : public quota {
  protected:
    http1_quota() { connection.quota = &room; }
    std::string take() {
        auto const text = connection.output().substr(taken_bytes_);
        taken_bytes_ = connection.output().size();
        return text;
    }

    conversation connection{service};

  private:
    std::size_t taken_bytes_ = 0;
};

TEST_F(http1_quota, is_asked_for_a_head_that_goes_on) {
    auto const text = api::request_text("GET /api/v1/users/1", {api::bearer(service.key)});
    room.bytes_max = text.size() / 2;
    connection.receive(std::string_view(text).substr(0, room.bytes_max));
    EXPECT_EQ(take(), "");
    EXPECT_EQ(room.keys, std::vector<std::uint64_t>{0}) << "nobody is known yet";
    connection.receive(std::string_view(text).substr(room.bytes_max));
    EXPECT_TRUE(take().starts_with("HTTP/1.1 200 ")) << "it is whole";
    connection.receive(std::string_view(text).substr(0, room.bytes_max + 1));
    EXPECT_TRUE(take().starts_with("HTTP/1.1 503 "));
    EXPECT_TRUE(connection.closed());
}

TEST_F(http1_quota, events_wait_for_it) {
    connection.receive(
        api::request_text("GET /api/v1/changes?after=latest", event_fields(service.key)));
    EXPECT_TRUE(take().starts_with("HTTP/1.1 200 "));
    EXPECT_EQ(room.keys.size(), 0u) << "there is enough";
    service.add_user();
    connection.short_of_memory = true;
    connection.wake();
    EXPECT_EQ(take(), "");
    EXPECT_EQ(room.keys, std::vector<std::uint64_t>{1});
    EXPECT_EQ(connection.deadline(), service.now.mono + event_room_wait);
    service.advance(event_room_wait / base::millisecond);
    room.bytes_max = base::limits::stream_step_bytes_max;
    connection.wake();
    EXPECT_NE(take().find("event: user.created"), std::string::npos);
}

// ---- HTTP/2

class http2_quota : public quota {
  protected:
    http2_quota() {
        receive(std::string(h2::preface) + settings_of() + settings_ack());
        (void)reader.events();
        server.server.quota = &room;
    }
    void receive(std::string_view bytes) {
        reader.expect_acknowledgements(bytes);
        server.receive(bytes);
        reader.read(server.take_output());
    }
    std::string list(std::uint32_t stream) const {
        return headers(stream, block(one.get_fields_but(":path", "/api/v1/users?limit=100")));
    }

    http2_conversation server{service};
    http2_reader reader;
    client one{service.key};
};

TEST_F(http2_quota, is_asked_for_a_large_answer) {
    room.bytes_max = 4096;
    receive(list(1));
    EXPECT_EQ(room.keys.size(), 0u) << "there is enough";
    server.server.short_of_memory = true;
    EXPECT_EQ(reader.events(), "1: 200");
    receive(list(3) + one.get(5));
    EXPECT_EQ(reader.events(), "3: 503; 5: 200");
    room.bytes_max = 1 << 20;
    receive(list(7));
    EXPECT_EQ(reader.events(), "7: 200");
    EXPECT_EQ(room.keys, (std::vector<std::uint64_t>{1, 1}));
}

TEST_F(http2_quota, is_asked_for_a_header_block_that_goes_on) {
    room.bytes_max = 5000;
    auto const whole = block(one.get_fields()) + literal("x-long", std::string(9'000, 'x'));
    receive(headers(1, whole.substr(0, 4000), flag::end_stream) +
            continuation(1, whole.substr(4000, 1000), 0) + continuation(1, whole.substr(5000)));
    EXPECT_EQ(reader.events(), "1: 200") << "its last part is not kept";
    EXPECT_EQ(room.keys, (std::vector<std::uint64_t>{0, 0})) << "nobody is known yet";
    receive(headers(3, whole.substr(0, 4000), flag::end_stream));
    EXPECT_EQ(reader.events(), "");
    receive(continuation(3, whole.substr(4000, 1001), 0));
    EXPECT_EQ(reader.events(), "GOAWAY ENHANCE_YOUR_CALM");
    EXPECT_TRUE(server.closed());
}

TEST_F(http2_quota, is_asked_for_the_first_part_of_a_header_block) {
    room.bytes_max = 9;
    receive(headers(1, block(one.get_fields()).substr(0, 10), flag::end_stream));
    EXPECT_EQ(reader.events(), "GOAWAY ENHANCE_YOUR_CALM");
}

TEST_F(http2_quota, is_asked_for_a_frame_that_goes_on) {
    room.bytes_max = 100;
    auto const whole =
        headers(1, block(one.get_fields()) + literal("x-long", std::string(300, 'x')),
                flag::end_stream | flag::end_headers);
    receive(std::string_view(whole).substr(0, 100));
    EXPECT_EQ(reader.events(), "");
    EXPECT_EQ(room.keys, std::vector<std::uint64_t>{0}) << "nobody is known yet";
    receive(std::string_view(whole).substr(100));
    EXPECT_EQ(reader.events(), "1: 200") << "it is whole";
    receive(std::string_view(whole).substr(0, 101));
    EXPECT_EQ(reader.events(), "GOAWAY ENHANCE_YOUR_CALM");
    EXPECT_TRUE(server.closed());
}

// Who is known by a key is not kept out by many who are not.
TEST_F(http2_quota, is_not_asked_for_content_of_a_key_that_goes_on) {
    auto const content = data(1, client::content, flag::end_stream);
    receive(one.post(1) + content.substr(0, 15));
    EXPECT_EQ(reader.events(), "");
    EXPECT_EQ(room.keys.size(), 0u);
    receive(content.substr(15));
    EXPECT_EQ(reader.events(), "1: 200");
    receive(one.post(3));
    server.server.overloaded = true;
    receive(data(3, client::content).substr(0, 15));
    EXPECT_EQ(reader.events(), "GOAWAY ENHANCE_YOUR_CALM");
}

TEST_F(http2_quota, events_wait_for_it) {
    auto fields = one.get_fields_but(":path", "/api/v1/changes?after=latest");
    fields.emplace_back("accept", "text/event-stream");
    receive(headers(1, block(fields)));
    EXPECT_EQ(reader.events(), "1: 200 unfinished");
    EXPECT_EQ(room.keys.size(), 0u) << "there is enough";
    service.add_user();
    server.server.short_of_memory = true;
    server.wake_events();
    EXPECT_EQ(server.take_output(), "");
    EXPECT_EQ(room.keys, std::vector<std::uint64_t>{1});
    EXPECT_FALSE(server.has_sendable()) << "it is not asked again at once";
    server.wake(wake_reason::bytes);
    EXPECT_EQ(server.wait_deadline(), server.server.now.mono + event_room_wait);
    server.pass(event_room_wait);
    room.bytes_max = base::limits::stream_step_bytes_max;
    server.wake(wake_reason::late);
    EXPECT_NE(server.take_output().find("event: user.created"), std::string::npos);
}

}  // namespace
}  // namespace latchkey::session
