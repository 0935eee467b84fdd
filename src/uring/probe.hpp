// Whether this kernel does what the runtime needs, tried before anything else is started: every
// opcode, a multishot receive into lent buffers over a socketpair, a cancel. Any thread without a
// ring of its own; leaves nothing behind.
#pragma once

#include "base/result.hpp"

namespace latchkey::uring {

// The error is one sentence that says what is missing and how to allow it.
base::result<void> probe();

// Raises the soft limits of locked memory and open files to the hard ones. Returns a warning for
// the operator when they are short for `workers` rings and `descriptors` connections, else "".
std::string raise_limits(unsigned workers, unsigned long descriptors);

}  // namespace latchkey::uring
