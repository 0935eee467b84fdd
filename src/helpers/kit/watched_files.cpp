#include "helpers/kit/watched_files.hpp"

#include <sys/stat.h>

#include "base/time_units.hpp"

namespace latchkey::kit {
namespace {

constexpr base::mono_ns interval = base::second;

}  // namespace

watched_files::watched_files(std::string authorities)
    : paths_{"/etc/resolv.conf", "/etc/hosts",    "/etc/nsswitch.conf",
             "/etc/host.conf",   "/etc/gai.conf", std::move(authorities)},
      inodes_(read_inodes()),
      next_look_(base::read_mono() + interval) {}

std::vector<watched_files::inode> watched_files::read_inodes() const {
    std::vector<inode> inodes;
    for (auto const& path : paths_) {
        struct stat status{};
        bool const exists = ::stat(path.c_str(), &status) == 0;
        inodes.push_back(exists ? inode(status.st_dev, status.st_ino) : inode());
    }
    return inodes;
}

bool watched_files::have_changed() {
    auto const now = base::read_mono();
    if (now < next_look_) return false;
    next_look_ = now + interval;
    return read_inodes() != inodes_;
}

}  // namespace latchkey::kit
