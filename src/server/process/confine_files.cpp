#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "base/descriptor.hpp"
#include "server/process/confine.hpp"

namespace latchkey::server {
namespace {

// From later versions of Landlock than the headers of the build may have.
constexpr std::uint64_t access_refer = 1ull << 13;         // version 2, Linux 5.19
constexpr std::uint64_t access_truncate = 1ull << 14;      // version 3, Linux 6.2
constexpr std::uint64_t access_device_ioctl = 1ull << 15;  // version 5, Linux 6.10

constexpr std::uint64_t read_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t write_access = read_access | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                       LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                       LANDLOCK_ACCESS_FS_REMOVE_FILE;
constexpr std::uint64_t single_file_access =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;

// Every access right that a version of Landlock handles; rights that no rule grants are denied.
std::uint64_t all_access(long version) {
    std::uint64_t all = LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1;
    if (version >= 2) all |= access_refer;
    if (version >= 3) all |= access_truncate;
    if (version >= 5) all |= access_device_ioctl;
    return all;
}

// A missing path needs no rule, nor does one outside of every file system (a pipe: EBADFD).
base::result<void> allow(base::descriptor const& rules, std::string const& path,
                         std::uint64_t access) {
    auto const place = base::open_file(path, O_PATH);
    struct stat status{};
    if (!place.is_open() || ::fstat(place.get(), &status) != 0) return {};
    if (!S_ISDIR(status.st_mode) && (access &= single_file_access) == 0) return {};
    landlock_path_beneath_attr rule{};
    rule.allowed_access = access;
    rule.parent_fd = place.get();
    if (::syscall(__NR_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 ||
        errno == EBADFD)
        return {};
    return base::errno_error("cannot create a Landlock rule for " + path, errno);
}

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

base::result<bool> confine_files(file_grants const& grants) {
    long const version =
        ::syscall(__NR_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return false;
    std::uint64_t const handled = all_access(version);
    // The first member of landlock_ruleset_attr, which grows with the versions.
    base::descriptor const rules(
        static_cast<int>(::syscall(__NR_landlock_create_ruleset, &handled, sizeof handled, 0)));
    if (!rules.is_open()) return base::errno_error("cannot create a Landlock ruleset", errno);
    for (auto const& [places, access] :
         {std::pair(&grants.read, read_access), std::pair(&grants.write, write_access),
          std::pair(&grants.remove, std::uint64_t{LANDLOCK_ACCESS_FS_REMOVE_FILE})})
        for (auto const& place : *places)
            if (auto const allowed = allow(rules, place, access); !allowed) return allowed.error();
    if (::syscall(__NR_landlock_restrict_self, rules.get(), 0) != 0)
        return base::errno_error("cannot apply the Landlock rules", errno);
    return true;
}

}  // namespace latchkey::server
