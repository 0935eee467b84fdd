// The files by which names are resolved and certificates are verified. Landlock grants them by
// inode, libraries keep what they have read, and whoever configures a system replaces them: then
// the process has to begin anew. One thread.
//
//     watched_files files(authorities_file());    // before the process confines itself
//     if (files.have_changed()) …                 // looks once a second at most
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace latchkey::kit {

class watched_files {
  public:
    explicit watched_files(std::string authorities);

    std::vector<std::string> const& paths() const { return paths_; }
    bool have_changed();

  private:
    using inode = std::pair<dev_t, ino_t>;  // zeros: there is no such file

    std::vector<inode> read_inodes() const;

    std::vector<std::string> paths_;
    std::vector<inode> inodes_;
    base::mono_ns next_look_;
};

}  // namespace latchkey::kit
