// Where an accepted socket becomes a connection of a worker, or is closed because there are too
// many. Owns the coroutines of the worker's connections. Belongs to the worker's thread.
#pragma once

#include "coro/scope.hpp"
#include "server/net/transport.hpp"
#include "server/worker_context.hpp"

namespace latchkey::server {

class admission {
  public:
    explicit admission(worker_context& context) : context_(context) {}
    admission(admission const&) = delete;
    admission& operator=(admission const&) = delete;

    // `expected`: the connection table counts the connection already.
    void accept(accepted socket, bool expected = false);
    // Ends all connections, and each that is still accepted.
    void abort();
    // Closes connections without a request in hand, once the worker drains; those alone that tell
    // their client, if it drains with notice.
    void end_idle();
    // Resets connections that occupy more than a fair share of the memory without reading.
    void shed_slow_readers();

    std::size_t running() const { return scope_.size(); }

  private:
    worker_context& context_;
    coro::scope scope_;
    base::mono_ns next_shedding_ = 0;
    bool aborting_ = false;
};

}  // namespace latchkey::server
