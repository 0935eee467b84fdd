#include "base/file_access.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/descriptor.hpp"

namespace latchkey::base {
namespace {

// From later versions of Landlock than the headers of the build may have.
constexpr std::uint64_t access_refer = 1ull << 13;         // version 2, Linux 5.19
constexpr std::uint64_t access_truncate = 1ull << 14;      // version 3, Linux 6.2
constexpr std::uint64_t access_device_ioctl = 1ull << 15;  // version 5, Linux 6.10

// A missing place needs no rule, nor does one outside of every file system (EBADFD).
result<void> allow(descriptor const& rules, std::string const& path) {
    auto const place = open_file(path, O_PATH);
    struct stat status{};
    if (!place.is_open() || ::fstat(place.get(), &status) != 0) return {};
    landlock_path_beneath_attr rule{};
    rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
    if (S_ISDIR(status.st_mode)) rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
    rule.parent_fd = place.get();
    if (::syscall(__NR_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 ||
        errno == EBADFD)
        return {};
    return errno_error("cannot create a Landlock rule for " + path, errno);
}

}  // namespace

result<void> restrict_files(std::span<std::string const> readable_places) {
    long const version =
        ::syscall(__NR_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return {};
    std::uint64_t handled = LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1;
    if (version >= 2) handled |= access_refer;
    if (version >= 3) handled |= access_truncate;
    if (version >= 5) handled |= access_device_ioctl;
    // The first member of landlock_ruleset_attr, which grows with the versions.
    descriptor const rules(
        static_cast<int>(::syscall(__NR_landlock_create_ruleset, &handled, sizeof handled, 0)));
    if (!rules.is_open()) return errno_error("cannot create a Landlock ruleset", errno);
    for (auto const& place : readable_places)
        if (auto const added = allow(rules, place); !added) return added;
    if (::syscall(__NR_landlock_restrict_self, rules.get(), 0) != 0)
        return errno_error("cannot apply the Landlock rules", errno);
    return {};
}

}  // namespace latchkey::base
