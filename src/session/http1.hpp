// HTTP/1.1 without I/O: request bytes in, response bytes out, and a `step` that says what the
// session waits for (step.hpp). It has no socket, no clock and no commit, so a whole connection can
// be tested and fuzzed byte by byte (tests/session).
//
//     http1 session(context, peer);
//     auto step = session.advance(input, wake_reason::bytes, state);   // step.consumed of them
//     switch (step.kind) {
//         case step_kind::write:   session.write(output, state);
//                               step = session.finish_response();
//         case step_kind::commit:  session.complete(commit(session.take_command()));
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
#include <string>
#include <string_view>

#include "api/frame/event_stream.hpp"
#include "http/parser.hpp"
#include "session/context.hpp"
#include "session/step.hpp"

namespace latchkey::session {

// A response as `write` appended it.
struct finished_response {
    session::stream const& stream;  // for the log and the metrics, until `finish_response`
    bool secret = false;            // the output holds a secret: wipe it after use
    bool admitted = false;          // a key admitted the request, and it succeeded
};

class http1 {
  public:
    // `client` may change until the first request; it and `shared` outlive the session.
    http1(context& shared, api::peer const& client);
    http1(http1 const&) = delete;
    http1& operator=(http1 const&) = delete;

    // `reason`: why the wait for input ended, if the last step was `read`, else `bytes`.
    step advance(std::string_view input, wake_reason reason, server_state const& server);

    finished_response write(std::string& output, server_state const& server);
    // Once the response was counted and logged: its stream goes back to the pool.
    step finish_response();
    void write_interim(std::string& output);
    // After `step_kind::write_events`. While a response goes on, input is not read, and `advance`
    // is called when the wait for events ends.
    step write_events(std::string& output, server_state const& server);

    // Results of `grant_body`. `deny` may also follow a grant, while the session reads: the request
    // is refused then as `overloaded`.
    void grant();
    void deny() { phase_ = phase::body_denied; }
    session::stream const& stream() const { return *stream_; }
    // Memory of a request that waits, or whose body is in progress.
    std::size_t held_bytes() const { return held_bytes_; }
    // The key of a response that goes on; 0: there is none.
    model::id events_key() const { return events_ ? events_->key_id() : 0; }

    store::command take_command() { return stream_->exchange.take_command(); }
    void complete(store::outcome const& outcome);
    // After `step_kind::await_tokens` or `await_turn`.
    void resume() { phase_ = phase::resumed; }

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
    step start_body(std::string_view input, server_state const& server);
    step collect_body(std::string_view input, server_state const& server);
    step finish_body(base::problem problem, std::size_t consumed, server_state const& server);
    step resume_request(std::string_view input, server_state const& server);
    step skip_body(std::string_view input, wake_reason reason);
    step next_events(wake_reason reason, server_state const& server);
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
    std::size_t held_bytes_ = 0;
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

}  // namespace latchkey::session
