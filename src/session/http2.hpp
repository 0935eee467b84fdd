// HTTP/2 without I/O (RFC 9113): frames in, frames out, and a `step` that says what the session
// waits for (step.hpp). Streams are requests side by side: what one waits for (a body, a commit, a
// window) holds up no other. A request that waits for nothing is answered before the next frame is
// read and is never entered into the table of streams.
//
//     http2 session(context, peer);
//     auto step = session.advance(input, wake_reason::bytes, state, output);
//     switch (step.kind) {
//         case step_kind::write:   session.write(output, state);
//                               step = session.finish_response();
//         case step_kind::commit:  … and later, while other streams go on:
//                               if (session.complete(id, outcome)) { … as `write` … }
//         …
//     }
//
// Error handling (§5.4): what is a stream's fault ends the stream, what is the connection's ends
// the connection with GOAWAY, what can be answered is answered. A stream that was reset keeps its
// slot until its work has ended, and a token bucket bounds the frames that make work without a
// request (rapid reset, floods of PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA).
//
// Belongs to its worker's thread; the views of a request hold until `finish_response`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http2/frame.hpp"
#include "http2/hpack_decoder.hpp"
#include "http2/hpack_encoder.hpp"
#include "session/context.hpp"
#include "session/http1.hpp"
#include "session/step.hpp"

namespace latchkey::session {

namespace h2 = ::latchkey::http2;

struct http2_stream;
struct dropped_request;

class http2 {
  public:
    using stream_id = std::uint32_t;

    http2(context& shared, api::peer const& client);
    ~http2();
    http2(http2 const&) = delete;
    http2& operator=(http2 const&) = delete;

    // Reads frames until one of them needs the caller; control frames are appended to `output`.
    // `reason`: why the wait for input ended, if the last step was `read`, else `bytes`.
    step advance(std::string_view input, wake_reason reason, server_state const& server,
                 std::string& output);

    // Appends the response that `advance` or `complete` announced: its HEADERS and as much DATA as
    // the windows allow.
    finished_response write(std::string& output, server_state const& server);
    step finish_response();
    // DATA of streams that waited for their window or for room in the output, the most urgent first
    // (RFC 9218 §10), up to `room` bytes.
    void write_pending(std::string& output, std::size_t room, server_state const& server);

    // The stream of the last step, or of the commit that was completed since.
    stream_id current() const { return current_; }
    session::stream const& stream() const;
    void grant();
    void deny();
    store::command take_command();
    // Announces the response, as `step_kind::write` does.
    // False: there is no response yet, since the commit was a wait; `advance` goes on with it.
    bool complete(stream_id id, store::outcome const& outcome);
    // After `step_kind::await_tokens` or `await_turn` of that stream: `advance` goes on with it.
    void resume(stream_id id) { resumed_.push_back(id); }
    // The body of that stream is refused, for others need its place.
    void give_up(stream_id id);

    // The stream waits for its body.
    bool is_reading(stream_id id) const;

    // Memory of requests in progress, of responses that wait, and of a header block that goes on.
    std::size_t held_bytes() const { return held_bytes_ + base::heap_bytes(block_); }
    // Memory of the two tables of header fields, which the connection keeps until its end.
    std::size_t table_bytes() const { return decoder_.heap_bytes() + encoder_.heap_bytes(); }
    // Of what is held, content that waits for a window or for room in the output.
    std::size_t pending_bytes() const { return pending_bytes_; }
    // Content waits for its window or for room in the output.
    bool has_pending() const { return pending_; }
    // Of these, content with a window, after `write_pending`: it goes on when there is room.
    bool has_sendable() const { return sendable_; }
    // Responses that go on (api::event_stream).
    bool has_events() const;
    // The store has changed: each of them may have something to send with `write_pending`.
    void wake_events();
    // Until when input is awaited, as of now; the last step's time is as of before `write_pending`.
    base::mono_ns wait_deadline() const { return deadline(false); }
    // Requests whose work has not ended.
    std::size_t in_progress() const { return streams_.size(); }

  private:
    using open_stream = http2_stream;
    using next = std::optional<step>;  // nullopt: on to the next frame
    enum class phase : std::uint8_t { preface, first_settings, open, closing };
    enum class drain_phase : std::uint8_t { none, announced, last_named };

    step read_frames(std::string_view input, server_state const& server, std::string& output);
    next read_frame(h2::frame_head const& head, std::string_view payload,
                    server_state const& server, std::string& output);
    next on_data(h2::frame_head const& head, std::string_view payload, server_state const& server,
                 std::string& output);
    next on_headers(h2::frame_head const& head, std::string_view payload,
                    server_state const& server, std::string& output);
    next on_continuation(h2::frame_head const& head, std::string_view payload,
                         server_state const& server, std::string& output);
    next on_reset(h2::frame_head const& head, std::string_view payload, std::string& output);
    next on_settings(h2::frame_head const& head, std::string_view payload, std::string& output);
    next on_window_update(h2::frame_head const& head, std::string_view payload,
                          std::string& output);
    next on_priority(h2::frame_head const& head, std::string_view payload, std::string& output);
    next on_priority_update(h2::frame_head const& head, std::string_view payload,
                            std::string& output);
    next on_ping(h2::frame_head const& head, std::string_view payload, std::string& output);
    next on_goaway(h2::frame_head const& head, std::string_view payload, std::string& output);

    // A header block is complete.
    next end_block(stream_id id, std::string_view block, bool ends_stream, bool depends_on_itself,
                   server_state const& server, std::string& output);
    next begin_request(stream_id id, std::string_view block, bool ends_stream,
                       bool depends_on_itself, server_state const& server, std::string& output);
    next await_body(open_stream& stream, server_state const& server);
    next keep_content(open_stream& stream, std::string_view content);
    next end_body(open_stream& stream, server_state const& server);
    next resume_request(open_stream& stream, server_state const& server);
    next refuse_body(open_stream& stream, base::problem problem);
    next read_trailers(stream_id id, std::string_view block, bool ends_stream,
                       server_state const& server, std::string& output);
    next judge_block(h2::hpack_decoder::result result, std::string& output);
    next follow(api::next_step reply, open_stream& stream);
    void settle_grant(std::string& output);

    step fail(h2::error_code code, std::string_view detail, std::string& output);
    next reset(stream_id id, h2::error_code code, std::string& output);
    bool spend();
    void earn(double tokens);
    void advance_drain(server_state const& server, std::string& output);
    void name_last_stream(std::string& output);
    step await_input(bool idle);
    step await_frame(std::size_t bytes, server_state const& server, std::string& output);
    base::mono_ns deadline(bool idle) const;
    next end_late(server_state const& server, std::string& output);

    open_stream* find(stream_id id) const;
    open_stream& take_stream(stream_id id);
    open_stream& enter();
    void leave(stream_id id);
    void remember_reset(stream_id id);
    bool was_reset(stream_id id) const;
    next drop_data(h2::frame_head const& head, std::size_t content_bytes, std::string& output);
    void end_request(stream_id id);
    void end_dropped(stream_id id, std::string& output);
    void end_late_dropped(std::string& output);
    bool needs_reset(dropped_request const& request) const;
    bool is_late(dropped_request const& request) const;
    dropped_request* find_dropped(stream_id id);
    void note_opened(stream_id id);
    bool is_idle(stream_id id) const { return id % 2 == 0 || id > highest_stream_; }
    bool was_left_out(stream_id id) const;
    bool is_ignored(stream_id id) const { return was_reset(id) || id > last_stream_; }
    void end_response(open_stream& stream, std::string& output);
    void write_head(open_stream& stream, http::response const& response, bool end,
                    server_state const& server, std::string& output);
    void write_block(stream_id id, bool end, std::string& output);
    std::size_t write_data(open_stream& stream, std::string_view content, std::size_t bytes_max,
                           std::string& output);
    open_stream* most_urgent();
    std::size_t write_content(open_stream& stream, std::size_t room, std::string& output);
    std::size_t write_events(open_stream& stream, std::size_t room, server_state const& server,
                             std::string& output);
    void end_unsendable_events(server_state const& server, std::string& output);
    void end_all_events(std::string& output);
    void end_events(open_stream& stream, std::string& output);
    void note_progress(std::size_t bytes);
    next refuse_block(server_state const& server, std::string& output);
    void count_held(open_stream& stream);
    void keep_body(open_stream& stream, std::string_view content);

    context& context_;
    api::peer const& client_;
    std::shared_ptr<options const> configuration_;
    http2_options const announced_;  // in SETTINGS: a reload changes those of later connections
    phase phase_ = phase::preface;
    drain_phase drain_ = drain_phase::none;
    bool client_leaves_ = false;  // GOAWAY came: no further streams
    h2::settings theirs_;
    h2::hpack_decoder decoder_;
    h2::hpack_encoder encoder_;
    std::string block_;           // a header block that continues in further frames
    stream_id block_stream_ = 0;  // 0: none
    unsigned block_frames_ = 0;
    bool block_ends_stream_ = false;
    bool block_depends_on_itself_ = false;

    std::vector<std::unique_ptr<open_stream>> streams_;  // requests that wait, ascending
    std::unique_ptr<open_stream> fresh_;                 // the request in hand, not yet in there
    open_stream* writing_ = nullptr;                     // whose response is announced
    stream_id current_ = 0;
    stream_id granted_ = 0;           // since the last `advance`
    std::vector<stream_id> denied_;   // the same
    std::vector<stream_id> resumed_;  // streams whose wait is over
    stream_id last_stream_ = 0;       // that is or was served: of GOAWAY
    stream_id highest_stream_ = 0;    // that the client has opened, also behind GOAWAY
    std::uint64_t history_ = 0;       // bit n: the client has opened highest_stream_ - 2n
    stream_id last_written_ = 0;      // for streams of one urgency that take turns
    std::vector<dropped_request> dropped_requests_;
    std::vector<stream_id> resets_;  // the latest that this side reset, a ring
    std::size_t next_reset_ = 0;

    std::int64_t send_window_ = h2::default_window;
    std::int64_t receive_window_ = h2::default_window;
    std::size_t held_bytes_ = 0;
    std::size_t pending_bytes_ = 0;  // of these, of responses
    bool pending_ = false;
    bool sendable_ = false;
    std::size_t consumed_ = 0;  // of the input, in this `advance`

    base::mono_ns now_ = 0;
    double tokens_;
    base::mono_ns refilled_ = 0;
    base::mono_ns start_ = 0;
    base::mono_ns idle_since_ = 0;
    base::mono_ns block_deadline_ = 0;
    base::mono_ns stalled_since_ = 0;  // 0: no response waits for a window
    std::size_t progress_bytes_ = 0;   // of content, written since then
    base::mono_ns drain_deadline_ = 0;
};

}  // namespace latchkey::session
