#include "replicate/confine_files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/descriptor.hpp"

namespace latchkey::replicate {
namespace {

// From later versions of Landlock than the headers of the build may have.
constexpr std::uint64_t access_refer = 1ull << 13;         // version 2, Linux 5.19
constexpr std::uint64_t access_truncate = 1ull << 14;      // version 3, Linux 6.2
constexpr std::uint64_t access_device_ioctl = 1ull << 15;  // version 5, Linux 6.10

// Of the system: names, authorities, modules of the resolver, randomness. In /run the resolver has
// its configuration.
constexpr std::array system_places{"/etc", "/usr",         "/lib",      "/lib64",
                                   "/run", "/dev/urandom", "/dev/null", "/proc/sys"};
constexpr std::array<std::string_view, 6> file_settings{"sslcert", "sslkey",    "sslrootcert",
                                                        "sslcrl",  "sslcrldir", "passfile"};
constexpr std::array file_variables{
    "PGPASSFILE",    "PGSERVICEFILE", "PGSYSCONFDIR", "PGSSLCERT",   "PGSSLKEY",
    "PGSSLROOTCERT", "PGSSLCRL",      "PGSSLCRLDIR",  "KRB5_CONFIG", "KRB5_CLIENT_KTNAME"};
constexpr std::array home_files{".pgpass", ".pg_service.conf", ".postgresql"};

// A missing place needs no rule.
base::result<void> allow(base::descriptor const& rules, std::string const& path) {
    auto const place = base::open_file(path, O_PATH);
    struct stat status{};
    if (!place.is_open() || ::fstat(place.get(), &status) != 0) return {};
    landlock_path_beneath_attr rule{};
    rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
    if (S_ISDIR(status.st_mode)) rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
    rule.parent_fd = place.get();
    if (::syscall(__NR_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 ||
        errno == EBADFD)
        return {};
    return base::errno_error("cannot create a Landlock rule for " + path, errno);
}

}  // namespace

std::vector<std::string> readable_places(std::vector<conninfo::setting> const& settings) {
    std::vector<std::string> places(system_places.begin(), system_places.end());
    for (auto const& [name, value] : settings)
        if (std::ranges::find(file_settings, name) != file_settings.end()) places.push_back(value);
    for (auto const* name : file_variables)
        if (char const* const value = ::getenv(name); value != nullptr) places.emplace_back(value);
    if (char const* const home = ::getenv("HOME"); home != nullptr)
        for (auto const* each : home_files) places.push_back(std::string(home) + "/" + each);
    std::erase(places, "");
    return places;
}

base::result<void> confine_files(std::vector<conninfo::setting> const& settings) {
    long const version =
        ::syscall(__NR_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return {};
    std::uint64_t handled = LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1;
    if (version >= 2) handled |= access_refer;
    if (version >= 3) handled |= access_truncate;
    if (version >= 5) handled |= access_device_ioctl;
    // The first member of landlock_ruleset_attr, which grows with the versions.
    base::descriptor const rules(
        static_cast<int>(::syscall(__NR_landlock_create_ruleset, &handled, sizeof handled, 0)));
    if (!rules.is_open()) return base::errno_error("cannot create a Landlock ruleset", errno);
    for (auto const& place : readable_places(settings))
        if (auto const result = allow(rules, place); !result) return result;
    if (::syscall(__NR_landlock_restrict_self, rules.get(), 0) != 0)
        return base::errno_error("cannot apply the Landlock rules", errno);
    return {};
}

}  // namespace latchkey::replicate
