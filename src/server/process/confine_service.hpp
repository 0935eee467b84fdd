// Sandboxing: what the process gives up for good, so that injected code can do little: no
// capabilities, no exec, no new sockets, no executable memory, no access to or from other
// processes, no files but its own. In this order, because capabilities and Landlock rules are per
// thread and binding may need a capability, while the seccomp filter has to cover every thread:
//
//     bind listeners → base::give_up_privileges(), base::restrict_files() → start threads →
//     filter_system_calls()
//
// io_uring would bypass the filter: each ring is restricted to the operations that the service uses
// (runtime/uring/ring.cpp), and no further ring can be created.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace latchkey::server {

// Where to find a file again after it was replaced: its directory, and for a symbolic link the
// directories of the whole chain; a device or pipe is its own place.
std::vector<std::string> places_of(std::string path);

// PR_SET_DUMPABLE off: no core dumps, and only root may read /proc/PID/mem or attach a debugger.
void hide_memory();

// seccomp: from here on, in every existing thread, a system call that the service does not make
// ends the process with SIGSYS, after a line on standard error with its number. Applies to all
// threads or, with an error, to none. Opening for reading, creating, appending and renaming stay
// allowed, since a reload and a stop need them; base::restrict_files limits which
// files.
base::result<void> filter_system_calls();

}  // namespace latchkey::server
