// The lock of a store's writers, acquired before LMDB's own, which has no time-out: a process that
// was stopped (SIGSTOP) within a transaction would block all others for ever, SIGTERM or not. It is
// an flock on the data directory, so the kernel frees it with its holder, and it works across
// containers, whose processes may have the same pids.
//
//     if (!lock.acquire(patience)) … another process has held it for that long …
//     lock.release();
//
// Any thread, one holder at a time, which releases it. While it is held, the signals by which a
// terminal stops a process (Ctrl-Z, output from the background) are blocked. Waiting is polling
// every half a millisecond, since a wait in the kernel could only be ended by a signal. That is
// fair, since a command beside a server pauses longer than that between two transactions.
#pragma once

#include <signal.h>

#include <atomic>
#include <mutex>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/system/descriptor.hpp"

namespace latchkey::store {

// Blocks, in the thread that makes it and for its lifetime, the signals by which a terminal stops a
// process; one that came takes effect afterwards.
class blocked_stops {
  public:
    blocked_stops();
    ~blocked_stops();
    blocked_stops(blocked_stops const&) = delete;
    blocked_stops& operator=(blocked_stops const&) = delete;

  private:
    sigset_t saved_;
};

class write_lock {
  public:
    write_lock() = default;
    write_lock(write_lock const&) = delete;
    write_lock& operator=(write_lock const&) = delete;

    base::result<void> open(std::string const& directory);

    static constexpr base::mono_ns for_ever = INT64_MAX;
    // False: another process held it for `patience`, or for half a second after `shorten_waits`. A
    // wait without a bound logs a warning after a while.
    bool acquire(base::mono_ns patience);
    void release();
    // This process is the server, for which commands pause: it does not pause itself.
    void set_server() { yields_ = false; }
    // From now on no wait lasts more than half a second, including those in progress.
    void shorten_waits() { shortened_ = true; }

    // "process 4711"; if the system does not tell, a phrase that says how to find out.
    std::string holder() const;

  private:
    bool try_acquire();
    void yield_to_server() const;

    std::string directory_;
    base::descriptor directory_file_;
    std::mutex mutex_;  // of the threads of this process, which have one descriptor
    sigset_t saved_signals_{};
    std::atomic<base::mono_ns> released_{0};
    std::atomic<bool> shortened_{false}, yields_{true};
};

}  // namespace latchkey::store
