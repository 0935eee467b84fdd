// Start-up self-test of io_uring: every opcode, a multishot receive into provided buffers over a
// socketpair, a cancel. Any thread without a ring; leaves nothing behind.
#pragma once

#include "base/result.hpp"

namespace latchkey::uring {

// The error is one sentence that says what is missing and how to allow it.
base::result<void> probe();

// Raises the soft limits of locked memory and open files to the hard limits. Returns a warning for
// the operator when locked memory is too little for `workers` rings, else "".
std::string raise_limits(unsigned workers);

}  // namespace latchkey::uring
