// One io_uring of one thread. All waiting of a worker happens in `enter`, all completions are
// copied in `collect`, and nothing is resumed while the completion queue is walked.
//
//     io_uring_sqe* sqe = ring.submission(op);          // never null: a full queue is flushed
//     first io_uring_prep_recv(sqe, fd, …); ring.enter(uring::ring::wait_for_one, &timeout);  //
//     one system call: submits and reaps ring.collect(ready);
//
// Made and used on one thread (SINGLE_ISSUER, DEFER_TASKRUN). Linux 6.1 or newer.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "uring/operation.hpp"

namespace latchkey::uring {

struct ring_options {
    unsigned submissions = 1024;
    unsigned completions = 8192;
};

// Why a ring cannot be had, in one sentence with the remedy; `number`: what a call of io_uring
// returned, a negative errno.
base::error refusal(int number);

class ring {
  public:
    static base::result<std::unique_ptr<ring>> make(ring_options options = {});
    ~ring();
    ring(ring const&) = delete;
    ring& operator=(ring const&) = delete;

    // The next free SQE with `op` as its user_data. To be filled at once.
    io_uring_sqe* submission(operation& op);
    // The same for an operation whose completion nobody needs.
    io_uring_sqe* submission();

    // Submits everything prepared. With `block`, waits until a completion is there or `until`
    // (monotonic; 0: for ever) has come.
    void enter(bool block, base::mono_ns until);
    // Moves every completion that is there to the end of `ready`.
    void collect(std::vector<completion>& ready);
    bool has_completions() const;

    // Posts a completion to another thread's ring, which wakes it (IORING_OP_MSG_RING).
    void wake(int other_ring, operation& arrives_at);
    int fd() const { return ring_.ring_fd; }
    // Enters that the kernel turned down for want of memory; they were tried again.
    std::uint64_t refused() const { return refused_; }
    io_uring& native() { return ring_; }

    // The ring of the calling thread; null when it has none.
    static ring* of_this_thread();

  private:
    ring() = default;
    int submit(unsigned wait_for, base::mono_ns until);
    void reap(std::vector<completion>& ready);

    io_uring ring_{};
    std::vector<completion> early_;  // reaped while the submission queue was full
    std::uint64_t refused_ = 0;
};

}  // namespace latchkey::uring
