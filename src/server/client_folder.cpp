#include "server/client_folder.hpp"

#include <cerrno>

#include "base/system/log.hpp"
#include "base/system/read_within.hpp"

namespace latchkey::server {
namespace {

constexpr std::size_t package_bytes_max = std::size_t{1} << 20;

// Leaves `bytes` empty where there is no such file.
base::result<void> read_package(std::string const& path, std::string& bytes) {
    auto const file = base::open_to_read(path);
    if (!file.is_open() && errno == ENOENT) return {};
    if (!file.is_open()) return base::errno_error("cannot open " + path, errno);
    std::string text(package_bytes_max + 1, '\0');
    auto const size = base::read_within(file, path, text);
    if (!size) return size.error();
    if (*size > package_bytes_max) return base::error{path + " has more than 1 MiB"};
    bytes.assign(text, 0, *size);
    return {};
}

}  // namespace

std::vector<api::client_package> read_client_folder(std::string const& folder) {
    std::vector<api::client_package> packages;
    if (folder.empty()) return packages;
    for (auto const& kind : api::client_kinds) {
        api::client_package package{&kind, {}};
        auto const outcome = read_package(folder + "/" + std::string(kind.name), package.bytes);
        if (!outcome)
            base::log(base::severity::warning,
                      outcome.error().message + ": /docs/clients does not hand it out");
        if (!package.bytes.empty()) packages.push_back(std::move(package));
    }
    return packages;
}

}  // namespace latchkey::server
