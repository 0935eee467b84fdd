// Requests of one worker that wait for the body in which their key may be (docs/api.md §2, way 4).
// Their clients are not identified yet, so they are bounded apart from all others: by number, and
// by the bytes that have arrived, not those that were announced. Past a bound the request that has
// waited longest is dropped: a client that sends its body takes one round trip, and is served
// however many do not send theirs.
//
//     anonymous_requests::entry entry;  entry.drop = …;
//     requests.enter(entry);
//     if (!requests.hold(entry, body.size())) …   // dropped: answer 503
//     requests.leave(entry);
//
// An intrusive queue; belongs to its worker's thread. Entries belong to their connections, and
// leave before they die. Nothing here fails or allocates.
#pragma once

#include <cstddef>

#include "base/limits.hpp"

namespace latchkey::server {

class anonymous_requests {
  public:
    static constexpr std::size_t count_max = base::limits::anonymous_requests_max;

    struct entry {
        // Called once when the request is dropped for another one; it has left by then.
        void (*drop)(entry& self) = nullptr;
        bool waits = false;

      private:
        friend class anonymous_requests;
        entry* older_ = nullptr;
        entry* newer_ = nullptr;
        std::size_t bytes_ = 0;
    };

    anonymous_requests() = default;
    anonymous_requests(anonymous_requests const&) = delete;
    anonymous_requests& operator=(anonymous_requests const&) = delete;

    // The bound of all bodies together; one body of the largest size always fits.
    void set_bytes_max(std::size_t bytes_max) { bytes_max_ = bytes_max; }

    void enter(entry& request);
    // `bytes` of its body have arrived. False: the request was dropped and has been removed.
    bool hold(entry& request, std::size_t bytes);
    // Does nothing where it does not wait.
    void leave(entry& request);

    std::size_t count() const { return count_; }
    std::size_t bytes() const { return bytes_; }

  private:
    void drop_oldest();

    entry* oldest_ = nullptr;
    entry* newest_ = nullptr;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    std::size_t bytes_max_ = base::limits::credential_bodies_bytes_max;
};

}  // namespace latchkey::server
