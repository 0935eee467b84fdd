// Responses of an HTTP/2 connection: header blocks, and DATA as far as the windows of the stream
// and of the connection allow (RFC 9113 §6.9), the most urgent stream first (RFC 9218 §10). Those
// that do not end are made when there is a window for them, so a stream that waits for one holds
// at most the rest of its last event. No I/O; belongs to its session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "session/http2_flood.hpp"
#include "session/http2_leftovers.hpp"
#include "session/http2_streams.hpp"
#include "wire/http2/hpack_encoder.hpp"

namespace latchkey::session {

class http2_writer {
  public:
    // All outlive it.
    http2_writer(context& shared, http2_streams& streams, http2_leftovers& leftovers,
                 http2_flood& flood)
        : context_(shared), streams_(streams), leftovers_(leftovers), flood_(flood) {}

    // HEADERS, and as much DATA as the windows allow; the rest is the stream's content.
    void write_response(http2_stream& stream, http::response const& response,
                        std::unique_ptr<api::event_stream> events, server_state const& server,
                        std::string& output);
    // 100 Continue.
    void write_interim(stream_id id, std::string& output);
    // The stream, which is in the table, has content that waits.
    void note_pending(http2_stream& stream, base::mono_ns now);
    void write_pending(std::string& output, std::size_t room, server_state const& server);
    bool has_pending() const { return pending_; }
    bool has_sendable() const { return sendable_; }

    bool has_events() const;
    void wake_events();
    // Those whose time has come.
    void wake_due_events(base::mono_ns now);
    void end_all_events(base::mono_ns now, std::string& output);

    // False: it would be more than a window may be (§6.9.1).
    bool grow_window(std::uint32_t increment);
    void set_table_limit(std::uint32_t bytes) { encoder_.set_table_limit(bytes); }
    std::size_t table_bytes() const { return encoder_.heap_bytes(); }
    // 0: no response waits for a window.
    base::mono_ns stalled_since() const { return stalled_since_; }

  private:
    void write_head(http2_stream& stream, http::response const& response, bool end,
                    server_state const& server, std::string& output);
    void write_block(stream_id id, bool end, std::string& output);
    std::size_t write_data(http2_stream& stream, std::string_view content, std::size_t bytes_max,
                           std::string& output);
    std::size_t write_content(http2_stream& stream, std::size_t room, base::mono_ns now,
                              std::string& output);
    std::size_t write_events(http2_stream& stream, std::size_t room, server_state const& server,
                             std::string& output);
    void end_unsendable_events(server_state const& server, std::string& output);
    void end_events(http2_stream& stream, base::mono_ns now, std::string& output);
    http2_stream* most_urgent();
    void note_progress(std::size_t bytes);

    context& context_;
    http2_streams& streams_;
    http2_leftovers& leftovers_;
    http2_flood& flood_;
    h2::hpack_encoder encoder_;
    std::int64_t send_window_ = h2::default_window;
    stream_id last_written_ = 0;  // for streams of one urgency that take turns
    bool pending_ = false;
    bool sendable_ = false;
    base::mono_ns stalled_since_ = 0;
    std::size_t progress_bytes_ = 0;  // of content, written since then
};

}  // namespace latchkey::session
