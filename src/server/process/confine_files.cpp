#include <sys/stat.h>
#include <unistd.h>

#include <climits>

#include "server/process/confine_service.hpp"

namespace latchkey::server {
namespace {

std::string folder_of(std::string const& path) {
    auto const slash = path.rfind('/');
    if (slash == path.npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

std::vector<std::string> places_of(std::string path) {
    constexpr int hops_max = 40;  // the kernel's limit (path_resolution(7))
    std::vector<std::string> places;
    for (int hop = 0; hop < hops_max; ++hop) {
        struct stat status{};
        bool const exists = ::lstat(path.c_str(), &status) == 0;
        bool const device = exists && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode));
        // Of /dev/stdout too: no other file beside it is needed.
        bool const alone = device || path.starts_with("/dev/") || path.starts_with("/proc/");
        places.push_back(alone ? path : folder_of(path));
        if (!exists || !S_ISLNK(status.st_mode)) break;
        char target[PATH_MAX];
        auto const size = ::readlink(path.c_str(), target, sizeof target);
        if (size <= 0) break;
        std::string_view const next(target, static_cast<std::size_t>(size));
        path = next.starts_with('/') ? std::string(next) : folder_of(path).append("/").append(next);
    }
    return places;
}

}  // namespace latchkey::server
