// HTTP/2 without I/O (RFC 9113): frames in, frames out, and a `step` that says what the session
// waits for (step.hpp). Streams are requests side by side: what one waits for (a body, a commit, a
// window) holds up no other. A request that waits for nothing is answered before the next frame is
// read and is never entered into the table of streams.
//
//     http2 session(context, peer);
//     auto step = session.advance(input, wake_reason::bytes, state, output);
//     switch (step.kind) {
//         case step_kind::write:   session.write(output, state);
//                                  … = session.finish_write();
//         case step_kind::commit:  … and later, while other streams go on:
//                                  if (session.complete(id, outcome)) { … as `write` … }
//         …
//     }
//
// The parts: header blocks (http2_blocks.hpp), requests (http2_requests.hpp) and the table of their
// streams (http2_streams.hpp), responses (http2_writer.hpp), all other frames (http2_control.hpp).
// Here is the order of frames, and the time.
//
// Error handling (§5.4): what is a stream's fault ends the stream, what is the connection's ends
// the connection with GOAWAY, what can be answered is answered. A stream that was reset keeps its
// slot until its work has ended, and a token bucket bounds the frames that make work without a
// request (http2_flood.hpp).
//
// Belongs to its worker's thread; the views of a request hold until `finish_write`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "session/http2_blocks.hpp"
#include "session/http2_control.hpp"
#include "session/http2_flood.hpp"
#include "session/http2_leftovers.hpp"
#include "session/http2_requests.hpp"
#include "session/http2_streams.hpp"
#include "session/http2_writer.hpp"
#include "session/session_context.hpp"
#include "session/step.hpp"

namespace latchkey::session {

class http2 {
  public:
    using stream_id = session::stream_id;
    static constexpr bool is_multiplexed = true;

    http2(context& shared, api::peer const& client);
    http2(http2 const&) = delete;
    http2& operator=(http2 const&) = delete;

    // As of `protocol_session` (step.hpp). Reads frames until one of them needs the caller; control
    // frames are appended to `output`.
    step advance(std::string_view input, wake_reason reason, server_state const& server,
                 std::string& output);
    // A response: its HEADERS and as much DATA as the windows allow.
    written_part write(std::string& output, server_state const& server);
    std::optional<step> finish_write() { return requests_.finish_write(); }

    stream_id current() const { return requests_.current(); }
    session::stream const& stream() const { return requests_.stream(); }
    void grant() { requests_.grant(); }
    void deny() { requests_.give_up(current()); }
    domain::command take_command() { return requests_.take_command(); }
    bool complete(stream_id id, domain::outcome const& outcome) {
        return requests_.complete(id, outcome);
    }
    void resume(stream_id id) { requests_.resume(id); }
    void give_up(stream_id id) { requests_.give_up(id); }
    bool is_reading(stream_id id) const { return requests_.is_reading(id); }
    std::size_t in_progress() const { return streams_.size(); }

    std::size_t held_bytes() const { return streams_.held_bytes() + blocks_.held_bytes(); }
    std::size_t table_bytes() const { return blocks_.table_bytes() + writer_.table_bytes(); }
    std::size_t pending_bytes() const { return streams_.pending_bytes(); }

    bool has_pending() const { return writer_.has_pending(); }
    void write_pending(std::string& output, std::size_t room, server_state const& server);
    bool has_sendable() const { return writer_.has_sendable(); }
    bool has_events() const { return writer_.has_events(); }
    void wake_events() { writer_.wake_events(); }
    base::mono_ns wait_deadline() const { return deadline(false); }

  private:
    using next = std::optional<step>;  // nullopt: on to the next frame
    enum class phase : std::uint8_t { preface, first_settings, open, closing };

    step read_frames(std::string_view input, server_state const& server, std::string& output);
    reaction read_frame(h2::frame_head const& head, std::string_view payload,
                        server_state const& server, std::string& output);
    reaction read_block(h2::frame_head const& head, std::string_view payload,
                        server_state const& server);
    next act_on(fault const& wrong, std::string& output);
    step fail(fault const& wrong, std::string& output);
    step close();
    step await_input(bool nothing_came);
    bool is_content_of_a_key(h2::frame_head const& head) const;
    step await_frame(std::size_t bytes, server_state const& server, std::string& output);
    base::mono_ns deadline(bool idle) const;
    next end_late(server_state const& server, std::string& output);
    void drain(server_state const& server, std::string& output);

    context& context_;
    http2_options const announced_;  // in SETTINGS: a reload changes those of later connections
    phase phase_ = phase::preface;
    http2_streams streams_;
    http2_flood flood_;
    http2_leftovers leftovers_;
    http2_blocks blocks_;
    http2_writer writer_;
    http2_control control_;
    http2_requests requests_;
    std::size_t consumed_ = 0;  // of the input, in this `advance`
    base::mono_ns now_ = 0;
    base::mono_ns start_ = 0;
};

static_assert(protocol_session<http2>);

}  // namespace latchkey::session
