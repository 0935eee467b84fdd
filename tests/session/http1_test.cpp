// What a session waits for, and what becomes of a request when a wait ends otherwise than with
// bytes, or when the server is short of something.
#include "session/http1.hpp"

#include "conversation.hpp"

namespace latchkey::session {
namespace {

using api::request_text;

constexpr base::mono_ns second = 1'000'000'000;

class http1_test : public api::api_test {
  protected:
    http1_test() {
        service.services().snapshot.renew();
        configure(context_, service);
    }

    // The step for more input; what of it was consumed goes.
    step advance(std::string_view bytes = {}, wake_reason reason = wake_reason::bytes) {
        input_.append(bytes);
        auto const next = session_.advance(input_, reason, server_, interim_);
        input_.erase(0, next.consumed);
        return next;
    }
    // Writes a response; its status line is in `output_`.
    step write() {
        auto const next = write_and_go_on();
        EXPECT_TRUE(next);
        return next.value_or(step{});
    }
    std::optional<step> write_and_go_on() {
        output_.clear();
        finished_ = session_.write(output_, server_).response->entry;
        return session_.finish_write();
    }
    void pass(base::mono_ns time) {
        server_.now.mono += time;
        server_.now.wall += time / 1'000'000;
    }
    bool answers(std::string_view status) const {
        return output_.starts_with("HTTP/1.1 " + std::string(status));
    }
    bool says_close() const { return output_.find("\r\nConnection: close\r\n") != output_.npos; }
    api::lines with_key(std::string const& field = "Accept: */*") const {
        return {api::bearer(service.key), field};
    }
    std::string get_user() {
        if (user_ == 0) user_ = service.add_user();
        service.services().snapshot.renew();
        return request_text("GET /api/v1/users/" + std::to_string(user_), with_key());
    }
    // A head whose body is to follow.
    std::string head_of_post(std::size_t body_bytes, std::string const& field = "Accept: */*") {
        return request_text("POST /api/v1/users",
                            {api::bearer(service.key), field, "Content-Type: application/json",
                             "Content-Length: " + std::to_string(body_bytes)});
    }

    context context_;
    struct configured {
        configured(context& shared, api_fixture& fixture) { configure(shared, fixture); }
    } configured_{context_, service};
    server_state server_{.now = service.now, .ready_since = service.now.mono};
    http1 session_{context_, service.peer};
    std::string input_, output_, interim_;
    log_entry finished_;
    model::id user_ = 0;
};

TEST_F(http1_test, a_request_is_answered_and_the_session_pauses_before_the_next) {
    auto const next = advance(get_user() + get_user());
    EXPECT_EQ(next.kind, step_kind::write);
    EXPECT_EQ(next.consumed, get_user().size());
    auto const next_step = write();
    EXPECT_TRUE(answers("200"));
    EXPECT_EQ(next_step.kind, step_kind::pause);
    EXPECT_EQ(next_step.time, 0);
    EXPECT_EQ(advance().kind, step_kind::write);
}

TEST_F(http1_test, a_first_head_must_be_complete_in_time_from_the_connections_beginning) {
    pass(3 * second);
    auto next = advance();
    EXPECT_EQ(next.kind, step_kind::read);
    EXPECT_TRUE(next.idle);
    EXPECT_EQ(next.time, server_.ready_since + 10 * second);
    pass(second);
    next = advance("GET /");
    EXPECT_FALSE(next.idle);
    EXPECT_EQ(next.time, server_.ready_since + 10 * second);
}

TEST_F(http1_test, a_later_head_must_be_complete_in_time_from_its_first_byte) {
    advance(get_user());
    write();
    auto next = advance();
    EXPECT_TRUE(next.idle);
    EXPECT_EQ(next.time, server_.now.mono + 60 * second);
    pass(5 * second);
    auto const start = server_.now.mono;
    EXPECT_EQ(advance("GET").time, start + 10 * second);
    pass(5 * second);
    EXPECT_EQ(advance(" /").time, start + 10 * second) << "slow bytes gain no time";
    EXPECT_EQ(advance({}, wake_reason::late).kind, step_kind::write);
    EXPECT_EQ(write().kind, step_kind::close);
    EXPECT_TRUE(answers("408"));
    EXPECT_TRUE(says_close());
    EXPECT_TRUE(finished_.refused_unparsed);
    EXPECT_EQ(finished_.request_id.size(), 26u);
}

TEST_F(http1_test, an_idle_connection_ends_without_a_response) {
    advance();
    EXPECT_EQ(advance({}, wake_reason::late).kind, step_kind::close);
    EXPECT_EQ(advance().kind, step_kind::close);
}

TEST_F(http1_test, half_a_head_and_the_end_get_no_response) {
    advance("GET / HT");
    EXPECT_EQ(advance({}, wake_reason::end).kind, step_kind::close);
}

TEST_F(http1_test, a_body_that_arrives_later_is_granted_awaited_and_read) {
    std::string const body = R"({"name":"Ada","email":"ada@example.com"})";
    auto const head = head_of_post(body.size());
    auto next = advance(head + body.substr(0, 10));
    EXPECT_EQ(next.kind, step_kind::grant_body);
    EXPECT_EQ(next.consumed, head.size());
    EXPECT_EQ(session_.held_bytes(), 0u);
    session_.grant();
    next = advance();
    EXPECT_EQ(next.kind, step_kind::grant_body) << "again, with what has arrived";
    EXPECT_EQ(session_.stream().body, body.substr(0, 10));
    EXPECT_GE(session_.held_bytes(), head.size());
    session_.grant();
    next = advance();
    EXPECT_EQ(next.kind, step_kind::read);
    EXPECT_EQ(next.time, server_.now.mono + 30 * second);
    EXPECT_FALSE(next.idle);
    next = advance(body.substr(10));
    ASSERT_EQ(next.kind, step_kind::commit);
    session_.complete(session_.current(), service.commit(session_.take_command()));
    EXPECT_EQ(advance().kind, step_kind::write);
    EXPECT_EQ(write().kind, step_kind::pause);
    EXPECT_TRUE(answers("201"));
    EXPECT_EQ(session_.held_bytes(), 0u);
    EXPECT_EQ(finished_.bytes_in, head.size() + body.size());
    EXPECT_EQ(finished_.method, "POST");
    EXPECT_EQ(finished_.path, "/api/v1/users") << "kept although the input is gone";
    EXPECT_EQ(finished_.status, 201);
    EXPECT_EQ(finished_.bytes_out, output_.size());
}

TEST_F(http1_test, a_body_that_came_with_its_head_is_read_in_place) {
    std::string const body = R"({"name":"Ada","email":"ada@example.com"})";
    auto const head = head_of_post(body.size(), "Expect: 100-continue");
    auto const next = advance(head + body);
    EXPECT_EQ(next.kind, step_kind::commit);
    EXPECT_EQ(next.consumed, head.size() + body.size());
    EXPECT_EQ(session_.held_bytes(), 0u);
    session_.complete(session_.current(), service.commit(session_.take_command()));
}

TEST_F(http1_test, a_commit_that_waits_holds_its_body_once) {
    std::string const text(15'000, 'x');
    auto const body = R"({"user_id":)" + std::to_string(service.add_user()) +
                      R"(,"title":"a","body":")" + text + "\"}";
    auto head = head_of_post(body.size());
    head.replace(head.find("/users"), 6, "/posts");
    ASSERT_EQ(advance(head + body.substr(0, 10)).kind, step_kind::grant_body);
    session_.grant();
    ASSERT_EQ(advance().kind, step_kind::grant_body);
    session_.grant();
    ASSERT_EQ(advance().kind, step_kind::read);
    ASSERT_EQ(advance(body.substr(10)).kind, step_kind::commit);
    auto const body_held = session_.held_bytes();
    EXPECT_GE(body_held, text.size());
    auto const command = session_.take_command();
    EXPECT_GE(session_.held_bytes(), text.size()) << "the command counts";
    EXPECT_LT(session_.held_bytes(), body_held + text.size() / 2) << "in the place of the body";
    EXPECT_EQ(session_.stream().body.capacity(), std::string().capacity());
    session_.complete(session_.current(), service.commit(command));
    EXPECT_EQ(advance().kind, step_kind::write);
    write();
    EXPECT_TRUE(answers("201")) << output_;
    EXPECT_EQ(finished_.path, "/api/v1/posts");
    EXPECT_EQ(session_.held_bytes(), 0u);
}

TEST_F(http1_test, a_client_that_waits_for_it_is_told_to_continue) {
    EXPECT_EQ(advance(head_of_post(10, "Expect: 100-continue")).kind, step_kind::grant_body);
    session_.grant();
    EXPECT_EQ(advance().kind, step_kind::grant_body);
    EXPECT_EQ(interim_, "HTTP/1.1 100 Continue\r\n\r\n");
}

TEST_F(http1_test, a_client_that_does_not_wait_is_not_told_to_continue) {
    advance(head_of_post(10, "Expect: 100-continue") + "{");
    session_.grant();
    EXPECT_EQ(advance().kind, step_kind::grant_body);
    EXPECT_EQ(interim_, "");
}

TEST_F(http1_test, a_body_must_arrive_in_time_and_whole) {
    for (auto const reason : {wake_reason::late, wake_reason::end}) {
        http1 client(context_, service.peer);
        auto const text = head_of_post(10);
        ASSERT_EQ(text.size(), [&] {
            input_ = text;
            return client.advance(input_, wake_reason::bytes, server_, interim_).consumed;
        }());
        client.grant();
        EXPECT_EQ(client.advance({}, wake_reason::bytes, server_, interim_).kind,
                  step_kind::grant_body);
        client.grant();
        EXPECT_EQ(client.advance({}, wake_reason::bytes, server_, interim_).kind, step_kind::read);
        EXPECT_EQ(client.advance({}, reason, server_, interim_).kind, step_kind::write);
        output_.clear();
        client.write(output_, server_);
        EXPECT_EQ(client.finish_write()->kind, step_kind::close);
        EXPECT_TRUE(answers(reason == wake_reason::late ? "408" : "400"));
    }
}

TEST_F(http1_test, a_body_without_memory_is_refused_before_it_comes_and_skipped) {
    auto const head = head_of_post(10);
    EXPECT_EQ(advance(head).kind, step_kind::grant_body);
    session_.deny();
    EXPECT_EQ(advance().kind, step_kind::write);
    EXPECT_FALSE(write_and_go_on()) << "`advance` has the next step";
    EXPECT_TRUE(answers("503"));
    EXPECT_FALSE(says_close());
    auto const next = advance();
    EXPECT_EQ(next.kind, step_kind::read);
    EXPECT_EQ(next.time, server_.now.mono + 30 * second);
    EXPECT_EQ(advance("0123456789" + get_user()).kind, step_kind::pause);
    EXPECT_EQ(advance().kind, step_kind::write);
    write();
    EXPECT_TRUE(answers("200"));
}

TEST_F(http1_test, a_body_without_memory_in_its_midst_ends_the_connection) {
    for (bool const awaited : {false, true}) {
        http1 client(context_, service.peer);
        input_ = head_of_post(10) + "01234";
        std::string_view rest = input_;
        rest.remove_prefix(client.advance(rest, wake_reason::bytes, server_, interim_).consumed);
        client.grant();
        EXPECT_EQ(client.advance(rest, wake_reason::bytes, server_, interim_).kind,
                  step_kind::grant_body);
        if (awaited) {
            client.grant();
            EXPECT_EQ(client.advance({}, wake_reason::bytes, server_, interim_).kind,
                      step_kind::read);
        }
        client.deny();
        EXPECT_EQ(client.advance({}, wake_reason::late, server_, interim_).kind, step_kind::write);
        output_.clear();
        client.write(output_, server_);
        EXPECT_EQ(client.finish_write()->kind, step_kind::close);
        EXPECT_TRUE(answers("503"));
    }
}

TEST_F(http1_test, an_overloaded_server_refuses_requests_but_tells_that_it_lives) {
    server_.overloaded = true;
    advance(get_user() + request_text("GET /healthz"));
    write();
    EXPECT_TRUE(answers("503"));
    advance();
    write();
    EXPECT_TRUE(answers("200"));
}

TEST_F(http1_test, short_of_memory_large_responses_need_a_key) {
    for (int i = 0; i < 40; ++i) service.add_user("Ada", std::to_string(i) + "@example.com");
    service.services().snapshot.renew();
    server_.short_of_memory = true;
    advance(request_text("GET /healthz"));
    write();
    EXPECT_TRUE(answers("200"));
    advance(request_text("GET /api/v1/users?limit=100", with_key()));
    EXPECT_EQ(write().kind, step_kind::pause);
    EXPECT_TRUE(answers("200"));
    EXPECT_GT(output_.size(), 4096u);
    advance(request_text("GET /openapi.json"));
    EXPECT_EQ(write().kind, step_kind::close);
    EXPECT_TRUE(answers("503"));
}

TEST_F(http1_test, a_draining_server_closes_after_each_response) {
    server_.draining = true;
    advance(get_user());
    EXPECT_EQ(write().kind, step_kind::close);
    EXPECT_TRUE(answers("200"));
    EXPECT_TRUE(says_close());
}

TEST_F(http1_test, a_reload_takes_effect_with_the_next_request_and_with_half_a_head) {
    advance(get_user());
    context_.configuration = std::make_shared<options const>(
        options{.parsing = {.request_line_bytes_max = 64}, .idle_seconds = 7});
    EXPECT_EQ(write().kind, step_kind::pause);
    EXPECT_EQ(advance().time, server_.now.mono + 7 * second);
    std::string const long_line = "GET /" + std::string(100, 'x');
    EXPECT_EQ(advance(long_line).kind, step_kind::write) << "too long for the new limit";
    write();
    EXPECT_TRUE(answers("414"));

    http1 client(context_, service.peer);
    input_ = "GET /" + std::string(20, 'x');
    EXPECT_EQ(client.advance(input_, wake_reason::bytes, server_, interim_).kind, step_kind::read);
    context_.configuration =
        std::make_shared<options const>(options{.parsing = {.request_line_bytes_max = 16}});
    EXPECT_EQ(client.advance(input_, wake_reason::bytes, server_, interim_).kind, step_kind::write);
}

TEST_F(http1_test, a_new_key_is_a_secret_in_the_output_and_nowhere_else) {
    std::string const body = R"({"name":"k","scopes":["*"]})";
    auto const text = request_text("POST /api/v1/keys", with_key(), body);
    ASSERT_EQ(advance(text).kind, step_kind::commit);
    session_.complete(session_.current(), service.commit(session_.take_command()));
    advance();
    EXPECT_TRUE(session_.write(output_, server_).secret);
    auto const position = output_.find("\"key\":\"");
    ASSERT_NE(position, output_.npos);
    auto const key = output_.substr(position + 7, 20);
    EXPECT_EQ(context_.response.body.find(key), std::string::npos);
    session_.finish_write();
}

TEST_F(http1_test, a_client_is_known_once_a_key_admitted_its_request) {
    advance(request_text("GET /healthz") + get_user() + request_text("GET /api/v1/users/1"));
    for (bool const admitted : {false, true, false}) {
        EXPECT_EQ(session_.write(output_, server_).admitted, admitted);
        session_.finish_write();
        advance();
    }
}

// limit::auth_failure_limiter: a second's worth of guesses.
TEST_F(http1_test, a_client_that_guesses_keys_is_read_later) {
    auto const guess = request_text("GET /api/v1/users/1", {api::bearer(std::string(48, 'x'))});
    base::mono_ns resume_at = 0;
    for (int i = 0; i < 10'000 && resume_at <= server_.now.mono; ++i) {
        ASSERT_EQ(advance(guess).kind, step_kind::write);
        resume_at = write().time;
    }
    EXPECT_GT(resume_at, server_.now.mono);
}

TEST_F(http1_test, streams_go_back_to_their_pool) {
    advance(head_of_post(10));
    EXPECT_EQ(context_.streams.in_use(), 1u);
    {
        http1 other(context_, service.peer);
        input_ = head_of_post(10);
        other.advance(input_, wake_reason::bytes, server_, interim_);
        EXPECT_EQ(context_.streams.in_use(), 2u);
    }
    EXPECT_EQ(context_.streams.in_use(), 1u);
    session_.deny();
    advance();
    EXPECT_FALSE(write_and_go_on()) << "its body is skipped first";
    EXPECT_EQ(context_.streams.in_use(), 0u);
}

}  // namespace
}  // namespace latchkey::session
