#include "server/process/node_instance.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/system/descriptor.hpp"

namespace latchkey::server {
namespace {

constexpr char const* boot_id_path = "/proc/sys/kernel/random/boot_id";

// By another name first, so that a crash leaves one of the two whole.
base::result<void> write_whole(std::string const& path, std::string_view content) {
    auto const temporary = path + ".new";
    ::unlink(temporary.c_str());
    auto const file = base::open_file(temporary, O_WRONLY | O_CREAT | O_EXCL);
    if (!file.is_open() ||
        ::write(file.get(), content.data(), content.size()) !=
            static_cast<ssize_t>(content.size()) ||
        ::fsync(file.get()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0)
        return base::errno_error("cannot write " + path, errno);
    return {};
}

}  // namespace

std::string place_of(std::string const& directory) {
    std::ifstream file(boot_id_path);
    std::string boot_id;
    struct stat folder{};
    if (!std::getline(file, boot_id) || ::stat(directory.c_str(), &folder) != 0) return "";
    return boot_id + ' ' + std::to_string(folder.st_dev) + ' ' + std::to_string(folder.st_ino);
}

base::result<replicate::protocol::identity> node_instance(std::string const& directory,
                                                          std::string_view place) {
    auto const path = directory + "/node.instance";
    replicate::protocol::identity instance{};
    std::string_view known_place;
    std::ostringstream text;
    if (std::ifstream file(path, std::ios::binary); file) text << file.rdbuf();
    auto const content = text.str();
    if (!content.empty()) {
        if (content.size() < instance.size())
            return base::error{path + " is damaged: remove it, and the node gets a new one"};
        content.copy(instance.data(), instance.size());
        known_place = std::string_view(content).substr(instance.size());
        if (known_place == place || place.empty()) return instance;
    }
    // One that an earlier version made has no place yet, and stays.
    if (content.empty() || !known_place.empty()) {
        auto const size = static_cast<ssize_t>(instance.size());
        if (::getrandom(instance.data(), instance.size(), 0) != size)
            return base::errno_error("cannot get random bytes", errno);
    }
    auto const result =
        write_whole(path, std::string(instance.data(), instance.size()).append(place));
    if (!result) return result.error();
    return instance;
}

}  // namespace latchkey::server
