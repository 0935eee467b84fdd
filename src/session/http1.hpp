// HTTP/1.1 without I/O: request bytes in, response bytes out, and a `step` that says what the
// session waits for (step.hpp). It has no socket, no clock and no commit, so a whole connection can
// be tested and fuzzed byte by byte (tests/session).
//
//     http1 session(context, peer);
//     auto step = session.advance(input, wake_reason::bytes, state, output);   // step.consumed
//     switch (step.kind) {
//         case step_kind::write:   session.write(output, state);
//                                  … = session.finish_write();
//         case step_kind::commit:  session.complete(id, commit(session.take_command()));
//         …
//     }
//
// `input` is all that was received and not consumed, in memory that may be written: credentials are
// overwritten where they lie. The log entry's views point into it until the next suspension.
// Belongs to its worker's thread; allocates nothing for a request in the steady state but the body
// of one that arrives in parts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/frame/event_stream.hpp"
#include "session/session_context.hpp"
#include "session/step.hpp"
#include "wire/http/parser.hpp"

namespace latchkey::session {

// What a protocol has with one request in hand at a time: no other can be meant, and no content
// waits for a window.
struct one_stream {
    static constexpr bool is_multiplexed = false;

    static constexpr stream_id current() { return 1; }
    static constexpr bool is_reading(stream_id) { return true; }
    static constexpr std::size_t table_bytes() { return 0; }
    static constexpr std::size_t pending_bytes() { return 0; }
    static constexpr bool has_pending() { return false; }
    static constexpr bool has_sendable() { return false; }
    static void write_pending(std::string&, std::size_t, server_state const&) {}
    // Events are looked for whenever the session is advanced.
    static void wake_events() {}
};

class http1 : public one_stream {
  public:
    // `client` may change until the first request; it and `shared` outlive the session.
    http1(context& shared, api::peer const& client);
    http1(http1 const&) = delete;
    http1& operator=(http1 const&) = delete;

    // As of `protocol_session` (step.hpp). While a response goes on, input is not read.
    step advance(std::string_view input, wake_reason reason, server_state const& server,
                 std::string& output);
    written_part write(std::string& output, server_state const& server);
    // The stream of a response goes back to the pool.
    std::optional<step> finish_write();

    session::stream const& stream() const { return *stream_; }
    void grant();
    // May also follow a grant, while the session reads: the request is refused then as
    // `overloaded`.
    void deny() { phase_ = phase::body_denied; }
    domain::command take_command();
    bool complete(stream_id id, domain::outcome const& outcome);
    void resume(stream_id) { phase_ = phase::resumed; }
    void give_up(stream_id) {
        if (phase_ == phase::body) deny();
    }
    std::size_t in_progress() const { return stream_ ? 1 : 0; }

    std::size_t held_bytes() const { return held_bytes_ + command_bytes_; }

    bool has_events() const { return events_ != nullptr; }
    base::mono_ns wait_deadline() const { return events_->due(); }

  private:
    enum class phase : std::uint8_t {
        head,
        body_announced,  // waits for the first `grant`
        body_granted,
        body,
        body_kept,  // a part was read; waits for the next `grant`
        body_awaited,
        body_denied,
        commit,
        awaiting,
        resumed,  // what it waited for has come
        response,
        events,    // the response goes on
        skipping,  // of a body that was not read before the response
        finished,
        closing,
    };

    void follow_configuration();
    step read_head(std::string_view input, server_state const& server);
    step await_head(bool idle, server_state const& server);
    step end_without_head(std::string_view input, wake_reason reason, server_state const& server);
    step refuse_unparsed(std::string_view input, base::problem problem, std::string_view detail,
                         server_state const& server);
    step begin_request(std::string_view input, http::step const& head, server_state const& server);
    bool take_body_in_place(std::string_view input, std::size_t head_bytes);
    step begin_body(std::string_view input, std::size_t head_bytes, server_state const& server);
    step announce_body(std::size_t head_bytes);
    step start_body(std::string_view input, server_state const& server, std::string& output);
    step collect_body(std::string_view input, server_state const& server);
    step finish_body(base::problem problem, std::size_t consumed, server_state const& server);
    step resume_request(std::string_view input, server_state const& server);
    step skip_body(std::string_view input, wake_reason reason);
    step next_events(wake_reason reason, server_state const& server);
    written_part write_events(std::string& output, server_state const& server);
    step finish_events();
    step follow(api::next_step next, std::size_t consumed);
    void keep_waiting();
    step close();
    bool may_skip_body() const;

    context& context_;
    api::peer const& client_;
    std::shared_ptr<options const> configuration_;  // of the request in hand
    http::parser parser_;
    http::framing framing_;
    stream_pool::handle stream_;
    std::size_t held_bytes_ = 0;       // of a request that waits, or whose body is in progress
    std::size_t command_bytes_ = 0;    // of its commit
    base::mono_ns head_deadline_ = 0;  // 0: no byte of the next head has arrived
    base::mono_ns body_deadline_ = 0;
    base::mono_ns resume_at_ = 0;
    phase phase_ = phase::head;
    bool body_unread_ = false;    // the response precedes the body
    bool body_doubtful_ = false;  // it was announced, and may not come
    bool first_request_ = true;
    bool http_1_0_ = false;
    bool closes_after_events_ = false;
    api::event_stream::progress progress_{};     // of the events to be written
    std::unique_ptr<api::event_stream> events_;  // of the response that goes on
};

static_assert(protocol_session<http1>);

}  // namespace latchkey::session
