// Load balancing between workers. The kernel gives a connection to the worker on the core where its
// packets arrive (server/process/listener.hpp): what they leave in that core's caches any other
// core would have to fetch, for every request. But the packets of all connections may arrive on one
// core, so a worker keeps no more than its share and passes the rest on. At the start of a burst a
// surplus connection waits up to 10 ms (at most once a second): its peers may be about to receive
// their own.
//
// Shares are counted in open connections, against one peer at a time, in turn. The emptier of two
// that are picked blindly comes close to the emptiest of all (Azar, Broder, Karlin, Upfal,
// "Balanced allocations", 1999).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "server/net/admission.hpp"

namespace latchkey::server {

// Belongs to its worker's thread, but for what says otherwise.
class connection_balancer {
  public:
    connection_balancer(worker_context& context, admission& admission)
        : context_(context), admission_(admission) {}
    connection_balancer(connection_balancer const&) = delete;
    connection_balancer& operator=(connection_balancer const&) = delete;

    // The workers that may be given connections; they live until this one has stopped accepting.
    void set_peers(std::vector<connection_balancer*> const& peers);
    // A connection that arrived at this worker: it is accepted here or there, now or soon.
    void admit(accepted const& socket);
    // When `flush_waiting` is to be called; 0: no connection waits.
    base::mono_ns due() const { return due_; }
    void flush_waiting();

    // How many connections arrived here from the kernel; any thread, a little late.
    std::uint64_t arrived() const { return arrived_.load(std::memory_order_relaxed); }
    // Open connections and those on their way; any thread, a little late.
    std::size_t connections() const { return context_.connections.count(); }

    // What a worker may have when its peer has so many connections.
    static constexpr std::size_t fair_share(std::size_t connections) {
        return connections + connections / 8 + 4;
    }

  private:
    static constexpr std::uint64_t unknown = UINT64_MAX;
    struct peer {
        connection_balancer* balancer;
        std::uint64_t arrived_at_pass = unknown;  // unchanged: the kernel gives it nothing
    };

    bool may_receive_its_own(peer const& candidate, std::size_t count) const;
    // True: the socket is the peer's now.
    bool pass_on(peer& target, accepted const& socket);
    bool take_over(accepted const& socket);
    peer& next() { return peers_[turn_++ % peers_.size()]; }

    worker_context& context_;
    admission& admission_;
    std::vector<peer> peers_;
    std::size_t turn_ = 0;
    std::vector<accepted> waiting_;
    base::mono_ns due_ = 0;
    base::mono_ns next_wait_ = 0;
    std::atomic<std::uint64_t> arrived_{0};
};

}  // namespace latchkey::server
