// A request in hand and its pool. A stream holds everything of a request that must outlive a
// suspension of its connection. HTTP/1.1 has one at a time. Not thread-safe: a pool and its streams
// belong to one worker.
//
//     stream_pool::handle stream = pool.take();   // back in the pool when the handle goes
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/exchange/exchange.hpp"
#include "api/frame/event_stream.hpp"
#include "base/heap_bytes.hpp"
#include "base/time_units.hpp"
#include "session/log_entry.hpp"
#include "session/step.hpp"
#include "wire/http/kept_request.hpp"

namespace latchkey::session {

struct stream {
    api::exchange exchange;
    log_entry entry;
    http::kept_request request_copy;  // where the body arrives later than the head
    std::string body;

    // All memory that it takes while it waits.
    std::size_t held_bytes() const;
    // Wipes what is kept of the request, since it may hold a credential, and gives each text above
    // `kept_bytes_max` of capacity back.
    void forget_request(std::size_t kept_bytes_max);
};

// Load shedding: a worker that is short of memory still answers what needs no key, so that health
// checks succeed, but with nothing large, and large answers to a key within its quota: such
// requests must not use up what others need.
void refuse_large_answer(stream& request, http::response& response, server_state const& server);

// The most that a step of an event stream may append: 0 while memory is short and its key holds as
// much as is left. Whoever does not read would else have a step of each of his streams held.
std::size_t event_bytes_max(api::event_stream const& events, server_state const& server);
// A stream without room is asked again after this time.
inline constexpr base::mono_ns event_room_wait = 100 * base::millisecond;

// A request that waits is copied, unless it was when its body was awaited.
void keep_request(stream& owner, http::request const& request);
void restore_request(stream const& owner, http::request& request);
// The command is held in the place of its request: what is kept of a request that does not go on
// after its commit is wiped and given back here, so that a body is not held twice while many wait.
domain::command take_command(stream& owner);

// Object pool: capacities survive from request to request, so that a request in the steady state
// allocates nothing. What clients sent is wiped, since it may have been a key.
class stream_pool {
  public:
    struct give_back {
        stream_pool* pool = nullptr;
        void operator()(stream* returned_stream) const { pool->put(returned_stream); }
    };
    using handle = std::unique_ptr<stream, give_back>;

    stream_pool() = default;
    stream_pool(stream_pool const&) = delete;
    stream_pool& operator=(stream_pool const&) = delete;

    handle take();
    // Streams that were taken and are not back.
    std::size_t in_use() const { return in_use_; }

  private:
    void put(stream* returned_stream);

    std::vector<std::unique_ptr<stream>> spare_;
    std::size_t in_use_ = 0;
};

}  // namespace latchkey::session
