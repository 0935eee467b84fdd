// Waiting for descriptors with poll(2). Any thread.
//
//     pollfd waited{.fd = socket, .events = POLLIN, .revents = 0};
//     if (base::poll_until({&waited, 1}, deadline) == 0) return base::error{"too late"};
#pragma once

#include <poll.h>

#include <limits>
#include <span>

#include "base/clock.hpp"

namespace latchkey::base {

inline constexpr mono_ns never = std::numeric_limits<mono_ns>::max();

// Waits until a descriptor is ready or the deadline has passed, whatever signals are handled
// meanwhile. Sets `revents`, and returns how many descriptors are ready; -1 and errno: the kernel
// is short of memory, or there are too many.
int poll_until(std::span<pollfd> waited, mono_ns deadline);

}  // namespace latchkey::base
