#include "base/system/file_access.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/system/descriptor.hpp"

namespace latchkey::base {
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
result<void> allow(descriptor const& rules, std::string const& path, std::uint64_t access) {
    auto const place = open_file(path, O_PATH);
    struct stat status{};
    if (!place.is_open() || ::fstat(place.get(), &status) != 0) return {};
    if (!S_ISDIR(status.st_mode) && (access &= single_file_access) == 0) return {};
    landlock_path_beneath_attr rule{};
    rule.allowed_access = access;
    rule.parent_fd = place.get();
    if (::syscall(__NR_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 ||
        errno == EBADFD)
        return {};
    return errno_error("cannot create a Landlock rule for " + path, errno);
}

}  // namespace

result<bool> restrict_files(file_grants const& grants) {
    long const version =
        ::syscall(__NR_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return false;
    std::uint64_t const handled = all_access(version);
    // The first member of landlock_ruleset_attr, which grows with the versions.
    descriptor const rules(
        static_cast<int>(::syscall(__NR_landlock_create_ruleset, &handled, sizeof handled, 0)));
    if (!rules.is_open()) return errno_error("cannot create a Landlock ruleset", errno);
    for (auto const& [places, access] :
         {std::pair(&grants.read, read_access), std::pair(&grants.write, write_access),
          std::pair(&grants.remove, std::uint64_t{LANDLOCK_ACCESS_FS_REMOVE_FILE})})
        for (auto const& place : *places)
            if (auto const allowed = allow(rules, place, access); !allowed) return allowed.error();
    if (::syscall(__NR_landlock_restrict_self, rules.get(), 0) != 0)
        return errno_error("cannot apply the Landlock rules", errno);
    return true;
}

}  // namespace latchkey::base
