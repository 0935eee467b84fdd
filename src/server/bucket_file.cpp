#include "server/bucket_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/log.hpp"
#include "limit/saved.hpp"
#include "store/master_key.hpp"

namespace latchkey::server {
namespace {

std::string path_in(std::string const& data_directory) {
    return data_directory + "/buckets";
}

bool write_all(int to, std::string_view bytes) {
    while (!bytes.empty()) {
        auto const written = ::write(to, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

base::result<void> write_file(limit::buckets const& from, std::string const& data_directory) {
    auto const path = path_in(data_directory), beside = path + ".new";
    ::unlink(beside.c_str());  // a crash may have left one, with another mode
    int const to = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0) return base::errno_error("cannot make " + beside, errno);
    bool const whole = limit::save(from, base::read_clocks(),
                                   [&](std::string_view part) { return write_all(to, part); }) &&
                       ::fsync(to) == 0;
    int const failure = whole ? 0 : errno;
    ::close(to);
    if (whole && ::rename(beside.c_str(), path.c_str()) == 0)
        return store::sync_directory(data_directory);
    auto const wrong = base::errno_error("cannot write " + path, whole ? errno : failure);
    ::unlink(beside.c_str());
    return wrong;
}

// Nothing if there is no file.
base::result<std::optional<std::string>> read_file(std::string const& path) {
    int const from = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (from < 0 && errno == ENOENT) return std::optional<std::string>();
    if (from < 0) return base::errno_error("cannot open it", errno);
    std::string bytes;
    struct stat status{};
    if (::fstat(from, &status) == 0 && status.st_size > 0)
        bytes.resize(static_cast<std::size_t>(status.st_size));
    std::size_t have = 0;
    ssize_t got = 1;
    while (have < bytes.size() && got > 0) {
        got = ::read(from, bytes.data() + have, bytes.size() - have);
        if (got > 0) have += static_cast<std::size_t>(got);
        if (got < 0 && errno == EINTR) got = 1;
    }
    int const failure = errno;
    ::close(from);
    if (got < 0) return base::errno_error("cannot read it", failure);
    bytes.resize(have);
    return std::optional(std::move(bytes));
}

}  // namespace

void save_buckets(limit::buckets const& from, std::string const& data_directory) {
    auto const saved = write_file(from, data_directory);
    if (!saved)
        base::say(base::severity::warning,
                  "the rate limits begin anew with the next start: " + saved.error().message);
}

void restore_buckets(limit::buckets& to, std::string const& data_directory) {
    auto const path = path_in(data_directory);
    auto const warn = [&](base::error const& why) {
        base::say(base::severity::warning,
                  "the rate limits begin anew, since " + path + " cannot be used: " + why.message);
    };
    auto const bytes = read_file(path);
    if (!bytes) return warn(bytes.error());
    if (!*bytes) return;
    auto const restored = limit::restore(to, base::read_clocks(), **bytes);
    if (!restored) warn(restored.error());
    ::unlink(path.c_str());
}

}  // namespace latchkey::server
