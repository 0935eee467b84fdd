// Landlock (Linux 5.13, docs.kernel.org/userspace-api/landlock.html): which files this process may
// still read. It may write, create, remove and execute none. Descriptors that are open stay so.
//
//     restrict_files({"/usr", "/etc/ssl/certs", "/etc/hosts"});     // after give_up_privileges()
#pragma once

#include <span>
#include <string>

#include "base/result.hpp"

namespace latchkey::base {

// Directories with all below them, or single files, by their inodes: one that is replaced later is
// not in the list. A missing place is none. For this thread and those that it starts. A kernel
// without Landlock leaves files to the rights of the user, which is no error.
result<void> restrict_files(std::span<std::string const> readable_places);

}  // namespace latchkey::base
