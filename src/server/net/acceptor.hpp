// One listener of one worker: an accept, multishot or for one connection, that is armed again when
// it ends. Belongs to the worker's thread; the listener's descriptor stays its owner's.
#pragma once

#include <cstdint>

#include "runtime/uring/pending_operation.hpp"
#include "runtime/uring/timers.hpp"
#include "server/net/connection_balancer.hpp"
#include "server/process/listener.hpp"

namespace latchkey::server {

class acceptor {
  public:
    acceptor(worker_context& context, admission& admission, connection_balancer& balancer,
             listener const& socket);
    ~acceptor();  // once it is not active any more
    acceptor(acceptor const&) = delete;
    acceptor& operator=(acceptor const&) = delete;

    void arm();
    // What connected before is still accepted, in a later turn; then the listener is shut.
    void cancel();
    // Another process accepts on it from now on: `cancel` then leaves its queue alone.
    void leave_queue() { leaves_queue_ = true; }
    int socket() const { return listener_.fd; }
    // The kernel holds the accept.
    bool active() const { return accept_.active; }

  private:
    struct accept_operation : uring::operation {
        acceptor* self = nullptr;
    };
    struct pause_entry : uring::timers::entry {
        acceptor* self = nullptr;
    };

    void on_accept(uring::completion const& cqe);
    accepted socket_of(int fd) const;
    void stop_listening();

    worker_context& context_;
    admission& admission_;
    connection_balancer& balancer_;
    listener const listener_;
    bool leaves_queue_ = false;
    accept_operation accept_;
    pause_entry pause_;
};

}  // namespace latchkey::server
