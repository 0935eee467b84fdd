// Requests of an HTTP/2 connection that were answered before their end. The rest of each is judged
// and dropped, for a while and as far as its window goes: a client that reads the response and a
// reset at once may report an error instead of the response (curl 7.88). No I/O; belongs to its
// session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "session/http2_streams.hpp"

namespace latchkey::session {

class http2_leftovers {
  public:
    // Both outlive it.
    http2_leftovers(http2_streams& streams, http2_options const& announced)
        : streams_(streams), announced_(announced) {}

    // The client has all of the response, and may not have sent all of its request.
    void end_response(http2_stream const& stream, base::mono_ns now, std::string& output);
    // What the stream has announced of its content; null: nothing of it is left.
    announced_content const* find(stream_id id);
    reaction drop_data(h2::frame_head const& head, std::size_t content_bytes, base::mono_ns now,
                       std::string& output);
    // The request is over, by whatever.
    void forget(stream_id id);
    void end_late(base::mono_ns now, std::string& output);
    // When `end_late` is to be called; 0: there is no need.
    base::mono_ns deadline() const;

  private:
    struct leftover {
        stream_id id = 0;
        std::int64_t window = 0;
        base::mono_ns reset_time = 0;  // not before
        announced_content announced;
    };

    leftover* find_request(stream_id id);
    bool needs_reset(leftover const& request) const;
    bool is_late(leftover const& request, base::mono_ns now) const {
        return needs_reset(request) && now >= request.reset_time;
    }
    void end(stream_id id, std::string& output);

    http2_streams& streams_;
    http2_options const& announced_;
    std::vector<leftover> requests_;
};

}  // namespace latchkey::session
