// A helper: a program of the package that does what the service gives up for good, such as opening
// sockets to other hosts. It is started by a supervisor, a child of this process that is forked
// before there are threads and which starts the program again when it ends. The supervisor has a
// spare, which does its work when it ends; all of them end with this process. The two ends of a
// socket pair are all that connects them.
//
//     auto socket = start_helper("latchkey-replicate");    // before the first thread
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"

namespace latchkey::kit {

// In a process that was just forked: from now on it ends with `parent`, even if that has ended
// already. What it executes then keeps this.
void end_with(pid_t parent);

// The path of a helper, beside this program or in /usr/lib/latchkey; empty: it is nowhere.
std::string find_helper(std::string const& name);

// The program is looked for beside this one, and in /usr/lib/latchkey. It gets the option
// `--descriptor 3`, the environment, and no other descriptor than the standard ones. The result is
// this process's end of a SOCK_SEQPACKET pair (helpers/kit/channel.hpp). The error says what to
// install.
base::result<base::descriptor> start_helper(std::string const& program);
// One without which the service works but for `loss`, which is logged then.
base::descriptor start_optional_helper(std::string const& program, std::string const& loss);

}  // namespace latchkey::kit
