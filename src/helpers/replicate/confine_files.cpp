#include "helpers/replicate/confine_files.hpp"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace latchkey::replicate {
namespace {

// Places of the system that may be read: names, authorities, modules of the resolver, randomness.
// In /run the resolver has its configuration.
constexpr std::array system_places{"/etc", "/usr",         "/lib",      "/lib64",
                                   "/run", "/dev/urandom", "/dev/null", "/proc/sys"};
constexpr std::array<std::string_view, 6> file_settings{"sslcert", "sslkey",    "sslrootcert",
                                                        "sslcrl",  "sslcrldir", "passfile"};
constexpr std::array file_variables{
    "PGPASSFILE",    "PGSERVICEFILE", "PGSYSCONFDIR", "PGSSLCERT",   "PGSSLKEY",
    "PGSSLROOTCERT", "PGSSLCRL",      "PGSSLCRLDIR",  "KRB5_CONFIG", "KRB5_CLIENT_KTNAME"};
constexpr std::array home_files{".pgpass", ".pg_service.conf", ".postgresql"};

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

}  // namespace latchkey::replicate
