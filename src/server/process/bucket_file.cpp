#include "server/process/bucket_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/system/descriptor.hpp"
#include "base/system/log.hpp"
#include "limit/bucket_snapshot.hpp"
#include "store/files/master_key.hpp"

namespace latchkey::server {
namespace {

std::string path_in(std::string const& data_directory) {
    return data_directory + "/buckets";
}

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        auto const count = ::write(fd, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

base::result<void> write_file(limit::buckets const& buckets, std::string const& data_directory,
                              base::instant const& now) {
    auto const path = path_in(data_directory), temporary = path + ".new";
    ::unlink(temporary.c_str());  // a crash may have left one, with another mode
    auto file = base::open_file(temporary, O_WRONLY | O_CREAT | O_EXCL);
    if (!file.is_open()) return base::errno_error("cannot create " + temporary, errno);
    bool const complete =
        limit::save(buckets, now,
                    [&](std::string_view part) { return write_all(file.get(), part); }) &&
        ::fsync(file.get()) == 0;
    file.close();
    if (complete && ::rename(temporary.c_str(), path.c_str()) == 0)
        return store::sync_directory(data_directory);
    auto const failure = base::errno_error("cannot write " + path, errno);
    ::unlink(temporary.c_str());
    return failure;
}

// nullopt if there is no file.
base::result<std::optional<std::string>> read_file(std::string const& path) {
    auto const file = base::open_file(path, O_RDONLY | O_NOFOLLOW);
    if (!file.is_open() && errno == ENOENT) return std::optional<std::string>();
    if (!file.is_open()) return base::errno_error("cannot open it", errno);
    std::string bytes;
    struct stat status{};
    if (::fstat(file.get(), &status) == 0 && status.st_size > 0)
        bytes.resize(static_cast<std::size_t>(status.st_size));
    std::size_t size = 0;
    ssize_t count = 1;
    while (size < bytes.size() && count > 0) {
        count = ::read(file.get(), bytes.data() + size, bytes.size() - size);
        if (count > 0) size += static_cast<std::size_t>(count);
        if (count < 0 && errno == EINTR) count = 1;
    }
    if (count < 0) return base::errno_error("cannot read it", errno);
    bytes.resize(size);
    return std::optional(std::move(bytes));
}

}  // namespace

void save_buckets(limit::buckets const& buckets, std::string const& data_directory,
                  base::instant const& now) {
    auto const saved = write_file(buckets, data_directory, now);
    if (!saved)
        base::log(base::severity::warning,
                  "the rate limits begin anew with the next start: " + saved.error().message);
}

void restore_buckets(limit::buckets& buckets, std::string const& data_directory,
                     base::instant const& now, std::uint64_t generation_max) {
    auto const path = path_in(data_directory);
    auto const warn = [&](base::error const& reason) {
        base::log(base::severity::warning, "the rate limits begin anew, since " + path +
                                               " cannot be used: " + reason.message);
    };
    auto const bytes = read_file(path);
    if (!bytes) return warn(bytes.error());
    if (!*bytes) return;
    auto const restored = limit::restore(buckets, now, **bytes, generation_max);
    if (!restored) warn(restored.error());
    ::unlink(path.c_str());
}

}  // namespace latchkey::server
