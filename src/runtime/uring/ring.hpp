// One io_uring of one thread. A worker waits only in `enter`; `collect` copies all completions, and
// nothing is resumed while the completion queue is walked.
//
//     uring::send(ring, op, fd, bytes);   // socket.hpp; fills ring.submission(op)
//     ring.enter(true, deadline);         // one system call: submits and waits
//     ring.collect(ready);
//
// Created and used on one thread (SINGLE_ISSUER, DEFER_TASKRUN). Linux 6.1 or newer.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "runtime/uring/pending_operation.hpp"

namespace latchkey::uring {

struct ring_options {
    unsigned submissions = 1024;
    unsigned completions = 8192;
};

// Why a ring cannot be created, in one sentence with the remedy; `number`: the negative errno that
// a call of io_uring returned.
base::error refusal(int number);

class ring {
  public:
    static base::result<std::unique_ptr<ring>> make(ring_options options = {});
    ~ring();
    ring(ring const&) = delete;
    ring& operator=(ring const&) = delete;

    // The next free SQE with `op`, which is active from here on, as its user_data; to be filled at
    // once. Never null: a full queue is submitted first.
    io_uring_sqe* submission(operation& op);
    // The same for an operation whose completion is ignored.
    io_uring_sqe* submission();

    // Submits everything prepared. With `block`, waits for a completion or until `deadline`
    // (monotonic; 0: none).
    void enter(bool block, base::mono_ns deadline);
    // Appends all pending completions to `ready`.
    void collect(std::vector<completion>& ready);
    bool has_completions() const;

    // Posts a completion to another thread's ring, which wakes it (IORING_OP_MSG_RING).
    void wake(int other_ring, operation& target);
    int fd() const { return ring_.ring_fd; }
    // Enters that the kernel refused (EBUSY, EAGAIN, ENOMEM); the next turn repeats them.
    std::uint64_t refused() const { return refusals_; }
    io_uring& native() { return ring_; }

    // The ring of the calling thread; null when it has none.
    static ring* of_this_thread();

  private:
    ring() = default;
    io_uring_sqe* next_submission(operation const& op);
    int submit(unsigned completions_min, base::mono_ns deadline);
    void reap(std::vector<completion>& ready);

    io_uring ring_{};
    std::vector<completion> early_;  // reaped while the submission queue was full
    std::uint64_t refusals_ = 0;
};

}  // namespace latchkey::uring
