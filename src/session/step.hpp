// The seam between a protocol and a connection. A session (http1.hpp) is a protocol without I/O, as
// nghttp2 and rustls are: it is given input, the time and the results of what it asked for, appends
// to an output buffer, and says with a `step` what its connection has to do next. The connection
// (server/net/connection.cpp) owns the socket, TLS, timers and commits, and knows nothing of HTTP.
//
// `read`, `write`, `write_interim`, `write_events`, `await_events`, `pause` and `close` are about
// the connection: there is one of them at a time. `grant_body`, `commit`, `await_tokens` and
// `await_turn` are about one stream, a request in hand. HTTP/1.1 has one stream and cannot go on
// without the result; with several streams (HTTP/2) a session is advanced again at once, gives out
// the steps of its other streams, and `read` once there is none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace latchkey::session {

enum class step_kind : std::uint8_t {
    advance,        // nothing: call `advance` again
    read,           // wait for more input, until `time` (0: no limit)
    write,          // a response is ready: `write`, then `finish_response`
    write_interim,  // a response of class 1xx is ready: `write_interim`
    write_events,   // a part of a response that does not end is ready: `write_events`
    await_events,   // wait until the store has changed, until `time`, or for the client's end
    pause,          // between two requests: wait for room in the output, and until `time`
    grant_body,     // decide whether the stream may keep (more of) a body: `grant` or `deny`
    commit,         // commit `take_command()`, then `complete`
    await_tokens,   // wait until there may be tokens for the stream's key, then `resume`
    await_turn,     // let others go first, then `resume` the stream
    close,          // neither read nor write any more
};

struct step {
    session::step_kind kind = session::step_kind::advance;
    bool idle = false;         // `read`: no part of a request has arrived
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

}  // namespace latchkey::session
