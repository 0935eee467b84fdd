// One submission in flight; its address is the SQE's user_data. It lives in the object that waits
// for it. Neither it nor the memory that the SQE names may move or die before the last completion,
// not even after a cancel or a close: until then the kernel owns both.
//
//     struct receive : uring::operation { … };
//     uring::receive_multishot(ring, op, fd);   // socket.hpp; later calls `op.complete` per result
#pragma once

#include <cstdint>

namespace latchkey::uring {

struct operation {
    // `result` as a system call's: a count, or a negative errno. `flags`: IORING_CQE_F_*.
    void (*complete)(operation& self, std::int32_t result, std::uint32_t flags) = nullptr;
    // Optional: called before the completions in front of it are handled, so that the memory which
    // `complete` will read can be prefetched.
    void (*prefetch_hint)(operation& self, std::int32_t result, std::uint32_t flags) = nullptr;
};

struct completion {
    operation* op;
    std::int32_t result;
    std::uint32_t flags;
};

}  // namespace latchkey::uring
