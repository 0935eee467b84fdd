// The deadlines of a connection, of which the soonest is on its worker's timers. Belongs to its
// worker's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time_units.hpp"
#include "runtime/uring/timers.hpp"
#include "server/worker_context.hpp"

namespace latchkey::server {

class client_deadlines {
  public:
    enum class kind : std::uint8_t {
        wait,   // of the coroutine
        write,  // without progress of the output
        end,    // of the PROXY header, the handshake, and lingering
        count_,
    };
    struct entry : uring::timers::entry {
        transport* owner = nullptr;
    };

    // `fire` is called when one may have passed.
    client_deadlines(worker_context& context, transport& owner,
                     void (*fire)(uring::timers::entry&, base::mono_ns))
        : context_(context) {
        timer_.owner = &owner;
        timer_.fire = fire;
    }
    ~client_deadlines() { context_.timers().remove(timer_); }
    client_deadlines(client_deadlines const&) = delete;
    client_deadlines& operator=(client_deadlines const&) = delete;

    bool is_set(kind deadline) const { return time(deadline) != 0; }
    bool has_passed(kind deadline, base::mono_ns now) const {
        return is_set(deadline) && now >= time(deadline);
    }
    // 0: there is none.
    void set(kind deadline, base::mono_ns time) {
        times_[static_cast<std::size_t>(deadline)] = time;
        arm();
    }
    void set_after(kind deadline, std::uint64_t seconds) {
        set(deadline, base::after(context_.now.mono, seconds));
    }
    // The timer stays, and fires for nothing, which costs less than moving it for each request.
    void drop(kind deadline) { times_[static_cast<std::size_t>(deadline)] = 0; }
    void clear() {
        times_ = {};
        arm();
    }
    void arm() {
        base::mono_ns soonest = 0;
        for (auto const time : times_)
            if (time != 0 && (soonest == 0 || time < soonest)) soonest = time;
        context_.timers().arm(timer_, soonest);
    }

  private:
    base::mono_ns time(kind deadline) const { return times_[static_cast<std::size_t>(deadline)]; }

    worker_context& context_;
    std::array<base::mono_ns, static_cast<std::size_t>(kind::count_)> times_{};
    entry timer_;
};

}  // namespace latchkey::server
