// One submission in flight. Its tagged address is the user_data; it lives in the object that waits
// for it, and neither it nor the memory that its SQE names may move or die before the last
// completion came, not even after a cancel or a close: until then the kernel owns both.
//
//     struct waiter : uring::operation { … };
//     ring.submission(op) → fill the SQE with an io_uring_prep_* helper; op.complete is called in
//     the ring's turn, with the result and the flags of the completion.
#pragma once

#include <cstdint>

namespace latchkey::uring {

struct operation {
    // `result` as a system call's: a count, or a negative errno. `flags`: IORING_CQE_F_*.
    void (*complete)(operation& self, std::int32_t result, std::uint32_t flags) = nullptr;
    // Null, or may be called ahead of that, before the operations that come first are completed:
    // what it is going to need can be fetched meanwhile.
    void (*foresee)(operation& self, std::int32_t result, std::uint32_t flags) = nullptr;
};

struct completion {
    operation* op;
    std::int32_t result;
    std::uint32_t flags;
};

}  // namespace latchkey::uring
