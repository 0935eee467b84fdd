// What the process gives up for good, so that whoever finds a way to run code of his own in it
// finds nothing to run it with: no capability, no program to start, no new socket, no memory to
// write code into, no other process to look at or to be looked at by. Two steps, because
// capabilities belong to each thread and listeners may need one, while the filter wants every
// thread to be there:
//
//     listeners are bound → give_up_privileges() → threads start → filter_system_calls()
//
// io_uring would be a way past the filter; each ring is restricted to what the service does with
// it (uring/ring.cpp), and no further one can be made.
#pragma once

#include "base/result.hpp"

namespace latchkey::server {

// All capabilities, and any way to get new ones (PR_SET_NO_NEW_PRIVS, which holds for what is
// inherited too). To be called while there is one thread.
base::result<void> give_up_privileges();

// PR_SET_DUMPABLE off: no core dumps, and only root may look into /proc/PID or attach a debugger.
void hide_memory();

// From here on, in every thread there is, a system call that the service does not make ends the
// process with SIGSYS, after a line on standard error that says which. Takes hold at once or, with
// an error, not at all. Opening files for reading, and files that are new or appended to for
// writing, stays possible: a reload needs it.
base::result<void> filter_system_calls();

// A sanitizer looks into its own process in ways that no service should: then there is no filter.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LATCHKEY_SANITIZED 1
#endif
#endif
#ifdef LATCHKEY_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace latchkey::server
