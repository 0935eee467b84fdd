// Sandboxing: what the process gives up for good, so that injected code can do little: no
// capabilities, no exec, no new sockets, no executable memory, no access to or from other
// processes, no files but its own. In this order, because capabilities and Landlock rules are per
// thread and binding may need a capability, while the seccomp filter has to cover every thread:
//
//     bind listeners → give_up_privileges(), confine_files() → start threads →
//     filter_system_calls()
//
// io_uring would bypass the filter: each ring is restricted to the operations that the service uses
// (uring/ring.cpp), and no further ring can be created.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace latchkey::server {

// Drops all capabilities and every way to gain new ones (PR_SET_NO_NEW_PRIVS, which children
// inherit). Call it while there is a single thread.
base::result<void> give_up_privileges();

// What stays accessible of the file system: directories with all below them, or single files that
// are not regular ones. Open descriptors are not affected.
struct file_grants {
    std::vector<std::string> read;
    std::vector<std::string> write;   // also create files and directories, replace and remove files
    std::vector<std::string> remove;  // unlink only
};

// Where to find a file again after it was replaced: its directory, and for a symbolic link the
// directories of the whole chain; a device or pipe is its own place.
std::vector<std::string> places_of(std::string path);

// Landlock (Linux 5.13, docs.kernel.org/userspace-api/landlock.html): from here on opening,
// renaming, linking, removing and executing anything else fails with EACCES, as does writing to
// /proc/self/mem, which the filter cannot tell from a log. Needs give_up_privileges() before and
// covers this thread and those that it starts. False: the kernel lacks Landlock or has it disabled.
base::result<bool> confine_files(file_grants const& grants);

// PR_SET_DUMPABLE off: no core dumps, and only root may read /proc/PID/mem or attach a debugger.
void hide_memory();

// seccomp: from here on, in every existing thread, a system call that the service does not make
// ends the process with SIGSYS, after a line on standard error with its number. Applies to all
// threads or, with an error, to none. Opening for reading, creating, appending and renaming stay
// allowed, since a reload and a stop need them; confine_files limits which files.
base::result<void> filter_system_calls();

// Sanitizers make system calls that the service does not: their builds run without a filter.
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
