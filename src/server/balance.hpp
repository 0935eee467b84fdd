// Which worker serves a connection. The kernel gives it to the worker on the core where its packets
// come in (server/listener.hpp): what they leave in that core's caches any other core would have to
// fetch, for every request. But those of all connections may come in on one core, and then the
// other workers would have nothing to do. So a worker keeps no more than its share and gives the
// rest to others. At the begin of a burst nobody knows yet what the others will get by themselves:
// then, once a second at most, what is too much waits for a moment before it goes.
//
// Shares are counted in open connections, against one other worker at a time, in turn. That is
// enough: who takes the emptier of two that were picked without looking comes close to who looks at
// all (Azar, Broder, Karlin, Upfal, "Balanced allocations", 1999).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "server/transport.hpp"

namespace latchkey::server {

// Lives on its worker's thread.
class balance {
  public:
    explicit balance(worker& home) : home_(home) {}
    balance(balance const&) = delete;
    balance& operator=(balance const&) = delete;

    // Who may be given connections; they live until this worker does not accept any more.
    void meet(std::vector<worker*> const& others);
    // A connection that came to this worker: it is accepted here or there, now or soon.
    void admit(accepted const& socket);
    // When those who wait are to be settled; 0: nobody waits.
    base::mono_ns due() const { return due_; }
    void settle();

    // How many connections came here by themselves; any thread, a little late.
    std::uint64_t arrived() const { return arrived_.load(std::memory_order_relaxed); }

    // What a worker may have when another one has so many connections.
    static constexpr std::size_t fair_share(std::size_t others) { return others + others / 8 + 4; }

  private:
    static constexpr std::uint64_t unknown = UINT64_MAX;
    struct other {
        worker* who;
        std::uint64_t arrived_when_given = unknown;  // while it has so many, nothing comes to it
    };

    // Whether another one may be about to get as many by itself.
    bool may_wait_for(other const& than, std::size_t mine) const;
    // True: it is the other worker's now.
    bool give(other& to, accepted const& socket);
    other& next() { return others_[turn_++ % others_.size()]; }

    worker& home_;
    std::vector<other> others_;
    std::size_t turn_ = 0;
    std::vector<accepted> waiting_;
    base::mono_ns due_ = 0;
    base::mono_ns next_wait_ = 0;
    std::atomic<std::uint64_t> arrived_{0};
};

}  // namespace latchkey::server
