// One listener of one worker: an accept, multishot or for one, that is armed again when it ends.
// Lives on the worker's thread; the listener's descriptor stays its owner's.
#pragma once

#include <cstdint>

#include "server/listener.hpp"
#include "uring/ring.hpp"
#include "uring/timers.hpp"

namespace latchkey::server {

class worker;

class acceptor {
  public:
    acceptor(worker& home, listener const& socket);
    ~acceptor();  // once it is not active any more
    acceptor(acceptor const&) = delete;
    acceptor& operator=(acceptor const&) = delete;

    void arm();
    // Who connected before is still accepted, in a later turn; the listener is shut then.
    void cancel();
    // The kernel holds the accept.
    bool active() const { return active_; }

  private:
    struct op : uring::operation {
        acceptor* self = nullptr;
    };
    struct pause_entry : uring::timers::entry {
        acceptor* self = nullptr;
    };

    void completed(std::int32_t result, std::uint32_t flags);
    void stop_listening();

    worker& on_;
    listener const from_;
    op accept_;
    pause_entry pause_;
    bool active_ = false;
};

}  // namespace latchkey::server
