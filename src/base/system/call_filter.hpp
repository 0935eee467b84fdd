// seccomp: which system calls this process may still make (Documentation/userspace-api/
// seccomp_filter.rst), for good. clone3 fails with ENOSYS, which makes the C library take clone.
//
//     constexpr base::allowed_call calls[] = {{__NR_read}, {__NR_socket, 0, UINT32_MAX, AF_INET}};
//     give_up_privileges(), then filter_calls({base::common_calls, calls})
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/result.hpp"

namespace latchkey::base {

// Sanitizers make system calls that the program does not: their builds run without a filter.
#if defined(__has_feature) && (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// With `argument`, allowed only if the masked `bits` of its lower half equal `value`: all that are
// checked are flags and small numbers.
struct allowed_call {
    int call;
    int argument = -1;
    std::uint32_t bits = 0, value = 0;
};

// Drops all capabilities and every way to gain new ones (PR_SET_NO_NEW_PRIVS, which children
// inherit). While there is a single thread.
result<void> give_up_privileges();

// The treatment of all calls that are not in the list.
struct forbidden_calls {
    // SIGSYS instead of EPERM: libraries have a way around a refusal, and none around a signal.
    bool trap = false;
    std::span<int const> failing = {};  // these fail in any case
    bool all_threads = false;           // not this one alone and those that it starts
};

// A call may stand in the lists several times. The process may signal itself in any case, as
// abort() does. Other ABIs of the machine end the process. Applies to all threads or, with an
// error, to none.
result<void> filter_calls(std::initializer_list<std::span<allowed_call const>> lists,
                          forbidden_calls const& others = {});

}  // namespace latchkey::base
