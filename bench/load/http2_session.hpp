// The client's side of one HTTP/2 connection (RFC 9113): requests become frames, frames become
// answers. Bytes in, bytes out; belongs to its connection, on its thread. A server that breaks the
// protocol ends the session: `problem` says how.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "field_encoder.hpp"
#include "group.hpp"
#include "wire/http2/frame.hpp"
#include "wire/http2/hpack_decoder.hpp"

namespace load {

// A request and what has come of its answer.
struct exchange {
    std::uint32_t stream = 0;  // 0: this slot is free
    std::uint32_t kind = 0;
    ns start = 0;
    unsigned status = 0;
    std::uint32_t window_debt = 0;  // bytes received since the last WINDOW_UPDATE
    std::size_t content = 0;
    std::size_t content_length = SIZE_MAX;  // of its header field; SIZE_MAX: none
    std::string text;                       // of an unexpected answer, or why there is none
};

class http2_session {
  public:
    // The group and the text outlive the session; the text may serve all sessions of a thread.
    http2_session(group const& owner, latchkey::http2::header_text& text);

    // What a client sends first.
    void start(std::string& output);
    // The server's SETTINGS have come.
    bool ready() const { return ready_; }
    // How many requests may be in flight at once.
    std::size_t capacity() const;
    std::size_t active() const { return active_; }
    // No further request can be sent: the server sent GOAWAY, or the stream ids have run out.
    bool leaving() const { return !goaway_.empty() || next_stream_ > stream_last_; }
    // Not empty: the server sent GOAWAY, and why.
    std::string const& goaway() const { return goaway_; }
    // Not empty: what the server did wrong; the connection is to be closed.
    std::string const& problem() const { return problem_; }

    // Sends a request if it is ready, not leaving, and has capacity.
    void send(random& generator, std::uint64_t& unique, std::uint64_t& turn, ns start,
              std::string& output);

    // Takes complete frames from the front of `bytes` and returns how many bytes they had. `give`
    // gets each exchange that ended, and whether it was answered; it sends nothing.
    using sink = latchkey::base::function_ref<void(exchange const& result, bool has_answer)>;
    std::size_t receive(std::string_view bytes, std::string& output, sink give);

  private:
    struct unsent_body {
        std::uint32_t stream;
        std::int64_t window;
        std::string rest;
    };

    void handle(latchkey::http2::frame_head const& head, std::string_view payload,
                std::string& output, sink give);
    void on_data(latchkey::http2::frame_head const& head, std::string_view payload,
                 std::string& output, sink give);
    void on_headers(latchkey::http2::frame_head const& head, std::string_view payload,
                    std::string& output, sink give);
    void on_block(std::string_view block, std::uint32_t stream, bool last, std::string& output,
                  sink give);
    void on_settings(latchkey::http2::frame_head const& head, std::string_view payload,
                     std::string& output);
    void on_window_update(latchkey::http2::frame_head const& head, std::string_view payload,
                          std::string& output);
    void on_goaway(std::string_view payload, sink give);
    bool read_fields(std::string_view block, exchange* target);
    exchange* find(std::uint32_t stream);
    void finish(exchange& target, std::string& output, sink give);
    void lose(exchange& target, std::string reason, sink give);
    void release(exchange& target);
    void send_body(unsent_body& body, std::string& output);
    void send_bodies(std::string& output);
    void fail(std::string_view fault);

    group const& owner_;
    latchkey::http2::header_text& text_;
    field_encoder encoder_;
    latchkey::http2::hpack_decoder decoder_;
    latchkey::http2::settings server_;
    std::vector<exchange> exchanges_;  // by stream id, modulo its size, a power of two
    std::vector<unsent_body> bodies_;
    std::size_t active_ = 0;
    std::uint32_t next_stream_ = 1, stream_last_;
    std::int64_t send_window_ = latchkey::http2::default_window;
    std::uint32_t window_debt_ = 0;
    std::string block_;  // a field block whose end has not come
    std::uint32_t block_stream_ = 0;
    bool block_last_ = false, ready_ = false;
    std::string goaway_, problem_, path_, body_;
};

}  // namespace load
