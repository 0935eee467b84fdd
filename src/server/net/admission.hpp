// Where an accepted socket becomes a connection of a worker, or is closed because there are too
// many. Owns the coroutines of the worker's connections. Belongs to the worker's thread.
#pragma once

#include <vector>

#include "runtime/coro/task_scope.hpp"
#include "server/net/memory_holders.hpp"
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
    // While memory is scarce: resets connections over their share whose clients read too slowly
    // and, past the budget, the largest of those that hold most.
    void relieve_memory();
    // When that is to be called next.
    base::mono_ns next_relief() const { return next_relief_; }

    std::size_t running() const { return scope_.size(); }

  private:
    worker_context& context_;
    coro::scope scope_;
    base::mono_ns next_relief_ = 0;
    std::vector<holding<transport>> holdings_;  // of one look
    bool aborting_ = false;
};

}  // namespace latchkey::server
