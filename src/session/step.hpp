// The seam between a protocol and a connection. A session (http1.hpp, http2.hpp) is a protocol
// without I/O, as nghttp2 and rustls are: it is given input, the time and the results of what it
// asked for, appends to an output buffer, and says with a `step` what its connection has to do
// next. The connection (server/net/connection.cpp) owns the socket, TLS, timers and commits, and
// is the same for each session: which calls a session has is said by `protocol_session` below.
//
// `read`, `write`, `pause` and `close` are about the connection: there is one of them at a time.
// `grant_body`, `commit`, `await_tokens` and `await_turn` are about one stream, a request in hand,
// which is `current()`. A session with one stream cannot go on without the result; one that is
// multiplexed is advanced again at once, gives out the steps of its other streams, and `read` once
// there is none.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "model/id.hpp"

namespace latchkey::domain {

struct command;
struct outcome;

}  // namespace latchkey::domain

namespace latchkey::session {

struct stream;
using stream_id = std::uint32_t;

enum class step_kind : std::uint8_t {
    read,          // wait for more input, and for events, until `time` (0: no limit)
    write,         // a response, or a part of one that goes on, is ready: `write`
    pause,         // between two requests: wait for room in the output, and until `time`
    grant_body,    // decide whether the stream may keep (more of) a body: `grant` or `deny`
    commit,        // commit `take_command()`, then `complete`
    await_tokens,  // wait until there may be tokens for the stream's key, then `resume`
    await_turn,    // let others go first, then `resume` the stream
    close,         // neither read nor write any more
};

struct step {
    session::step_kind kind = session::step_kind::read;
    bool idle = false;         // `read`: no part of a request has arrived
    bool takes_input = true;   // `read`: else input that arrives is kept, and ends no wait
    std::size_t consumed = 0;  // bytes at the front of the input that are done with
    base::mono_ns time = 0;
};

// Why a wait for input ended.
enum class wake_reason : std::uint8_t { bytes, end, late };

// Who may have a large response while memory is short.
class answer_quota {
  public:
    // `key`: of the request; `bytes`: of the response.
    virtual bool admits_answer(std::uint64_t key, std::size_t bytes) const = 0;

  protected:
    ~answer_quota() = default;
};

// The state that a session is given with each call, since only the server knows it.
struct server_state {
    base::instant now;
    base::mono_ns ready_since = 0;  // when the client could first have sent a request
    bool overloaded = false;        // no further request is to be admitted
    bool short_of_memory = false;   // none for large responses that need no key
    // Decides, while memory is short, which large responses that need a key are made; null: all of
    // them.
    answer_quota const* quota = nullptr;
    bool draining = false;  // responses carry `Connection: close`
};

// What `write` has appended.
struct written_part {
    // A whole response, for the log and the metrics, until `finish_write`; null: a part of one that
    // goes on.
    session::stream const* response = nullptr;
    model::id key = 0;      // whose it is; 0: nobody's
    bool secret = false;    // the output holds a secret: wipe it after use
    bool admitted = false;  // a key admitted the request, and it succeeded
};

// What a connection calls of its session. The calls about streams, content that waits and events
// cost nothing where a protocol has none.
template <class Session>
concept protocol_session =
    requires(Session session, Session const& view, std::string_view input, wake_reason reason,
             server_state const& server, std::string& output, std::size_t room, stream_id id,
             domain::outcome const& outcome) {
        // Several requests may be in hand at once.
        { Session::is_multiplexed } -> std::convertible_to<bool>;
        // `reason`: why the wait ended, if the last step was `read`, else `bytes`. What the
        // protocol says by itself is appended to `output`.
        { session.advance(input, reason, server, output) } -> std::same_as<step>;
        // After the step `write`, or where `complete` says so; then `finish_write`, whose result is
        // the next step. nullopt: `advance` has it.
        { session.write(output, server) } -> std::same_as<written_part>;
        { session.finish_write() } -> std::same_as<std::optional<step>>;

        // The stream of the last step, or of the commit that was completed since.
        { view.current() } -> std::same_as<stream_id>;
        { view.stream() } -> std::same_as<session::stream const&>;
        session.grant();
        session.deny();
        { session.take_command() } -> std::same_as<domain::command>;
        // False: there is no response yet; `advance` goes on with the stream.
        { session.complete(id, outcome) } -> std::same_as<bool>;
        session.resume(id);
        // The body of that stream is refused, for others need its place.
        session.give_up(id);
        { view.is_reading(id) } -> std::same_as<bool>;
        // Requests in hand.
        { view.in_progress() } -> std::same_as<std::size_t>;

        // Memory of requests in hand and of responses that wait; of the tables that the connection
        // keeps; of the first, content that waits for the client.
        { view.held_bytes() } -> std::same_as<std::size_t>;
        { view.table_bytes() } -> std::same_as<std::size_t>;
        { view.pending_bytes() } -> std::same_as<std::size_t>;

        // Content waits for its window or for room in the output; up to `room` bytes of it.
        { view.has_pending() } -> std::same_as<bool>;
        session.write_pending(output, room, server);
        // After `write_pending`: there is content with a window, which goes on when there is room.
        { view.has_sendable() } -> std::same_as<bool>;
        // Responses that go on (api::event_stream): the wait of `read` also ends when the store has
        // changed, which `wake_events` is told, or at this deadline in the place of the step's.
        { view.has_events() } -> std::same_as<bool>;
        session.wake_events();
        { view.wait_deadline() } -> std::same_as<base::mono_ns>;
    };

}  // namespace latchkey::session
