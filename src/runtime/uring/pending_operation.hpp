// One submission in flight; its address is the SQE's user_data. It lives in the object that waits
// for it. Neither it nor the memory that the SQE names may move or die while it is `active`, not
// even after a cancel or a close: until then the kernel owns both.
//
//     struct receive : uring::operation { … };
//     uring::receive_multishot(ring, op, fd);   // socket.hpp; `op` is active from here on
//     for (auto const& done : ready) done.deliver();   // calls `op.complete` for each result
#pragma once

#include <liburing.h>

#include <cstdint>

namespace latchkey::uring {

struct completion;

struct operation {
    void (*complete)(operation& self, completion const& cqe) = nullptr;
    // Optional: called before the completions in front of it are handled, so that the memory which
    // `complete` will read can be prefetched.
    void (*prefetch_hint)(operation& self, completion const& next) = nullptr;
    // The kernel holds it: from the submission until its last completion is delivered.
    bool active = false;
};

// One result of an operation.
struct completion {
    operation* op;
    std::int32_t result;  // as of the system call: a count, or a negative errno
    std::uint32_t flags;  // IORING_CQE_F_*

    // The operation is multishot and goes on.
    bool has_more() const { return flags & IORING_CQE_F_MORE; }
    // `result` bytes are in a provided buffer (buffers.hpp), which has to be released.
    bool has_buffer() const { return flags & IORING_CQE_F_BUFFER; }

    void deliver() const {
        op->active = has_more();
        op->complete(*op, *this);
    }
};

}  // namespace latchkey::uring
