// seccomp: which system calls this process may still make (Documentation/userspace-api/
// seccomp_filter.rst), for helpers that speak to other hosts through libraries. Whatever else is
// tried fails with EPERM, clone3 with ENOSYS, which makes the C library take clone: libraries have
// a way around a refusal, and none around a signal.
//
//     constexpr base::allowed_call calls[] = {{__NR_read}, {__NR_socket, 0, UINT32_MAX, AF_INET}};
//     give_up_privileges(), then filter_calls(calls)          // a single thread, for good
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace latchkey::base {

// With `argument`, allowed only if the masked `bits` of its lower half equal `value`.
struct allowed_call {
    int call;
    int argument = -1;
    std::uint32_t bits = 0, value = 0;
};

// Drops all capabilities and every way to gain new ones.
result<void> give_up_privileges();

// For this thread and those that it starts. A call may stand in the list several times. The process
// may signal itself in any case, as abort() does. Other ABIs of the machine end the process.
result<void> filter_calls(std::span<allowed_call const> calls);

}  // namespace latchkey::base
