// One stream of an HTTP/2 session (RFC 9113 §5.1), and what a frame leads to. Private to the parts
// of the session (http2.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/frame/event_stream.hpp"
#include "base/bytes.hpp"
#include "base/time_units.hpp"
#include "session/session_context.hpp"
#include "session/stream.hpp"
#include "wire/http2/frame.hpp"

namespace latchkey::session {

namespace h2 = ::latchkey::http2;

// An error (§5.4): of a stream, which is reset, or of the connection, which ends.
struct fault {
    h2::error_code code = h2::error_code::no_error;
    std::string_view detail;  // of a connection: the text of GOAWAY
    stream_id stream = 0;     // 0: it is the connection's
};
inline fault stream_fault(stream_id stream, h2::error_code code) {
    return {code, {}, stream};
}

// What a frame leads to: nothing for the caller, a step, or an error.
using reaction = std::variant<std::monostate, step, fault>;

enum class stream_state : std::uint8_t {
    reading,     // of its body
    committing,  // its command is under way
    waiting,     // for tokens of its key; content that arrives is kept
    responding,  // its response is being made, or waits for a window
};

// The length of its content that a request announced, and how much of it has come.
struct announced_content {
    std::optional<std::uint64_t> length;  // what Content-Length said
    std::uint64_t received = 0;

    // The request is malformed (RFC 9113 §8.1.1).
    bool is_wrong(bool is_whole) const {
        return length && (received > *length || (is_whole && received != *length));
    }
};

struct http2_stream {
    stream_id id = 0;
    stream_state state = stream_state::responding;
    bool input_ended = false;
    bool reset = false;        // by either side
    bool head_only = false;    // HEAD: no content
    bool interim_due = false;  // 100 Continue, once the body is granted
    bool first_grant = true;
    h2::priority urgency;
    std::int64_t send_window = 0;
    std::int64_t receive_window = 0;
    announced_content announced;
    base::mono_ns deadline = 0;    // of the body
    base::problem body_problem{};  // of content that arrived while it waited
    // The configuration with which the request began, in force for it across a reload.
    std::shared_ptr<options const> configuration;
    stream_pool::handle work;
    std::string content;  // of a response that could not be sent at once
    std::size_t sent_bytes = 0;
    std::size_t command_bytes = 0;  // of its commit
    std::size_t counted_bytes = 0;  // of `held_bytes`, in the sum of its connection
    std::size_t counted_content_bytes = 0;
    std::unique_ptr<api::event_stream> events;  // of a response that goes on
    bool events_due = false;                    // there may be some, or it has to end

    // Its work goes on, and keeps its slot, also when it was reset.
    bool is_busy() const {
        return state == stream_state::committing || state == stream_state::waiting;
    }
    void begin(stream_id number, std::uint32_t send, std::uint32_t receive) {
        std::destroy_at(this);
        std::construct_at(this);
        id = number;
        send_window = send;
        receive_window = receive;
    }
    void end() {
        work.reset();
        configuration.reset();
        events.reset();
        base::wipe(content.data(), content.size());
        std::string().swap(content);
    }
    bool has_content() const { return !content.empty() || events_due; }
    // A response that goes on leaves no time to others if it does not.
    bool takes_turns() const { return urgency.incremental || events != nullptr; }
    std::size_t held_bytes() const {
        return sizeof *this + (work ? work->held_bytes() : 0) + (events ? sizeof *events : 0) +
               base::heap_bytes(content) + command_bytes;
    }
};

}  // namespace latchkey::session
