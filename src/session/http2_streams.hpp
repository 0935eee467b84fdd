// The streams of an HTTP/2 connection (RFC 9113 §5.1): the requests that wait for something, and
// what is remembered of the others, so that a late frame of theirs is told from a wrong one. A
// request that waits for nothing is never entered into the table. No I/O; belongs to its session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "session/http2_stream.hpp"

namespace latchkey::session {

class http2_streams {
  public:
    // ---- the table

    // Streams that wait, ascending. A stream that leaves is not to be used any more.
    std::vector<std::unique_ptr<http2_stream>> const& all() const { return all_; }
    http2_stream* find(stream_id id) const;
    bool empty() const { return all_.empty(); }
    std::size_t size() const { return all_.size(); }
    // The request in hand, until the next one is taken.
    http2_stream& take(stream_id id, std::uint32_t send_window, std::uint32_t receive_window,
                       stream_pool::handle work);
    // The request has to wait: it is entered, unless it was, and stays where it is.
    void enter(http2_stream& stream, std::shared_ptr<options const> const& configuration);
    void leave(stream_id id);
    // Its work is over.
    void end(http2_stream& stream) { is_fresh(stream) ? stream.end() : leave(stream.id); }
    // By either side: nothing further is sent. A stream whose work goes on keeps its slot.
    void reset(stream_id id);

    // Counts anew what the stream holds.
    void count_held(http2_stream& stream);
    void keep_body(http2_stream& stream, std::string_view content);
    std::size_t held_bytes() const { return held_bytes_; }
    // Of these, content of responses.
    std::size_t pending_bytes() const { return pending_bytes_; }

    // A request began or ended, or input came.
    void note_activity(base::mono_ns now) { active_at_ = now; }
    base::mono_ns idle_since() const { return active_at_; }

    // ---- what was

    void note_opened(stream_id id);
    bool is_idle(stream_id id) const { return id % 2 == 0 || id > highest_; }
    // It was closed by a later one before it was opened.
    bool was_left_out(stream_id id) const;
    void note_served(stream_id id) { last_served_ = id; }
    stream_id last_served() const { return last_served_; }
    // This side has reset it.
    void note_reset(stream_id id);
    // What comes of it is not an error, and dropped.
    bool is_ignored(stream_id id) const;

  private:
    bool is_fresh(http2_stream const& stream) const { return &stream == fresh_.get(); }

    std::vector<std::unique_ptr<http2_stream>> all_;
    std::unique_ptr<http2_stream> fresh_;  // the request in hand, not yet in there
    std::size_t held_bytes_ = 0;
    std::size_t pending_bytes_ = 0;
    base::mono_ns active_at_ = 0;
    stream_id last_served_ = 0;      // that is or was: of GOAWAY
    stream_id highest_ = 0;          // that the client has opened, also behind GOAWAY
    std::uint64_t history_ = 0;      // bit n: the client has opened highest_ - 2n
    std::vector<stream_id> resets_;  // the latest, a ring
    std::size_t next_reset_ = 0;
};

}  // namespace latchkey::session
