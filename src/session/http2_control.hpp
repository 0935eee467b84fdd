// The frames of an HTTP/2 connection that are part of no message: SETTINGS, WINDOW_UPDATE,
// PRIORITY, PING, RST_STREAM and GOAWAY, in both directions, and the announcement that the server
// goes (RFC 9113 §6). No I/O; belongs to its session.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "session/http2_flood.hpp"
#include "session/http2_leftovers.hpp"
#include "session/http2_streams.hpp"
#include "session/http2_writer.hpp"

namespace latchkey::session {

class http2_control {
  public:
    // All outlive it. `announced`: in SETTINGS.
    http2_control(http2_options const& announced, http2_streams& streams, http2_writer& writer,
                  http2_leftovers& leftovers, http2_flood& flood)
        : announced_(announced),
          streams_(streams),
          writer_(writer),
          leftovers_(leftovers),
          flood_(flood) {}

    // The server's preface: its SETTINGS, and the connection's window.
    void announce(std::size_t list_bytes_max, std::string& output);
    // A frame of these kinds.
    reaction read(h2::frame_head const& head, std::string_view payload, base::mono_ns now,
                  std::string& output);
    // DATA came, of whatever stream: the connection's window, which opens again at once, since what
    // is kept counts in the memory budget.
    std::optional<fault> take_window(std::uint32_t bytes, std::string& output);
    // The first window of a stream.
    std::uint32_t client_window() const { return theirs_.window; }

    // Two steps (§6.8): a client that has not heard of the end yet may have opened streams; they
    // are served.
    void drain(base::mono_ns now, std::string& output);
    base::mono_ns drain_deadline() const { return drain_deadline_; }  // 0: there is none
    bool drains() const { return drain_ != drain_phase::none; }
    // Streams that are opened from now on are another connection's.
    bool has_named_last() const { return drain_ == drain_phase::last_named; }
    // No further stream comes.
    bool ends() const { return has_named_last() || client_leaves_; }

  private:
    enum class drain_phase : std::uint8_t { none, announced, last_named };

    reaction on_reset(h2::frame_head const& head, std::string_view payload);
    reaction on_settings(h2::frame_head const& head, std::string_view payload, std::string& output);
    reaction on_window_update(h2::frame_head const& head, std::string_view payload);
    reaction on_priority(h2::frame_head const& head, std::string_view payload);
    reaction on_priority_update(h2::frame_head const& head, std::string_view payload);
    reaction on_ping(h2::frame_head const& head, std::string_view payload, std::string& output);
    reaction on_goaway(h2::frame_head const& head, std::string_view payload);
    void name_last_stream(std::string& output);

    http2_options const& announced_;
    http2_streams& streams_;
    http2_writer& writer_;
    http2_leftovers& leftovers_;
    http2_flood& flood_;
    h2::settings theirs_;
    std::int64_t receive_window_ = h2::default_window;
    drain_phase drain_ = drain_phase::none;
    base::mono_ns drain_deadline_ = 0;
    bool client_leaves_ = false;  // GOAWAY came
    base::mono_ns now_ = 0;
};

}  // namespace latchkey::session
