// Landlock (Linux 5.13, docs.kernel.org/userspace-api/landlock.html): which files this process may
// still open, rename, link, remove and execute. Anything else fails with EACCES, as does writing to
// /proc/self/mem. Descriptors that are open stay so.
//
//     restrict_files({.read = {"/usr", "/etc/ssl/certs", "/etc/hosts"}});  // privileges given up
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace latchkey::base {

// Directories with all below them, or single files, by their inodes: one that is replaced later is
// not in the list. A missing place is none.
struct file_grants {
    std::vector<std::string> read;
    std::vector<std::string> write;   // also create files and directories, replace and remove files
    std::vector<std::string> remove;  // unlink only
};

// For this thread and those that it starts. False: the kernel lacks Landlock or has it disabled,
// which leaves files to the rights of the user.
result<bool> restrict_files(file_grants const& grants);

}  // namespace latchkey::base
