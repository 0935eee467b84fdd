// Connections of a worker with a response that does not end (api/frame/event_stream.hpp): they are
// woken all together when the store has what may concern them, which is new changes or other keys,
// and when the worker drains or loses its lease. What the clock brings is a deadline of each
// connection.
//
// Other processes write the store too, so a worker with waiters looks at it every `interval`; one
// without any does nothing. While there is much to tell, each wake waits for what comes within an
// interval, which grows with their number, so that streams leave time to requests.
//
//     event_waiters::entry entry;  entry.wake = …;
//     waiters.enter(entry);
//     once a turn:  waiters.turn(snapshot, state, now);   // calls `wake`, between two requests
//     waiters.leave(entry);
//
// An intrusive list; belongs to its worker's thread. Entries belong to their connections, and leave
// before they die. Nothing here fails or allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/time_units.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::server {

class event_waiters {
  public:
    static constexpr base::mono_ns interval = 50 * base::millisecond;
    static constexpr base::mono_ns time_per_waiter = 25 * base::microsecond;

    struct entry {
        // Does not end the connection at once.
        void (*wake)(entry& self) = nullptr;

      private:
        friend class event_waiters;
        entry* next_ = nullptr;
        entry** link_ = nullptr;  // null: it does not wait
    };

    event_waiters() = default;
    event_waiters(event_waiters const&) = delete;
    event_waiters& operator=(event_waiters const&) = delete;

    void enter(entry& waiter);
    // Both do nothing where it is so already.
    void leave(entry& waiter);

    // `ends`: the worker drains, or has lost its lease.
    void turn(domain::snapshot const& snapshot, bool ends, base::mono_ns now);
    // When there has to be a turn; 0: no need.
    base::mono_ns due() const { return first_ != nullptr ? next_look_ : 0; }

  private:
    void wake_all();
    base::mono_ns pause() const {
        return std::max(interval, static_cast<base::mono_ns>(count_) * time_per_waiter);
    }

    entry* first_ = nullptr;
    std::size_t count_ = 0;
    std::uint64_t known_version_ = 0;
    bool known_ends_ = false;
    base::mono_ns next_look_ = 0;
    base::mono_ns next_wake_ = 0;  // not before
};

}  // namespace latchkey::server
