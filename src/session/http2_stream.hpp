// One stream of an HTTP/2 session (RFC 9113 §5.1), and the bounds of a connection. Private to
// session/http2*.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/frame/event_stream.hpp"
#include "base/bytes.hpp"
#include "base/time_units.hpp"
#include "http2/frame.hpp"
#include "session/context.hpp"
#include "session/stream.hpp"

namespace latchkey::session {

namespace h2 = ::latchkey::http2;

// A header block may take as many CONTINUATION frames (CVE-2024-27316 and its kin).
inline constexpr unsigned block_frames_max = 1 + 8;
inline constexpr std::size_t remembered_resets = 256;
// Token bucket for frames that make work without a request: a client that only asks never needs
// them, one that reads large responses earns one for each DATA frame.
inline constexpr double tokens_max = 400;
inline constexpr double tokens_per_second = 40;

inline constexpr std::string_view drain_ping = "drained?";
inline constexpr base::mono_ns drain_wait = base::second;
inline constexpr base::mono_ns early_reset_wait = base::second;

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

// A request that was answered before its end. The rest of it is judged and dropped.
struct dropped_request {
    std::uint32_t id = 0;
    std::int64_t window = 0;
    base::mono_ns reset_time = 0;  // not before
    announced_content announced;
};

struct http2_stream {
    std::uint32_t id = 0;
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
    void begin(std::uint32_t number, std::uint32_t send, std::uint32_t receive) {
        *this = {};
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
