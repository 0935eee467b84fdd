#include "store/claim.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string_view>

namespace latchkey::store {
namespace {

std::string path_in(std::string const& directory) {
    return directory + "/server.lock";
}

// Whoever only looks whether there is a server holds the lock too, for a moment.
bool lock_within_patience(int descriptor) {
    for (int attempts = 20;; ::usleep(5000)) {
        if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
        if (errno != EWOULDBLOCK || --attempts == 0) return false;
    }
}

}  // namespace

base::result<int> claim_directory(std::string const& directory) {
    auto const path = path_in(directory);
    int const descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return base::errno_error("cannot open " + path, errno);
    char text[24];
    if (!lock_within_patience(descriptor)) {
        int const failure = errno;
        auto const size = ::pread(descriptor, text, sizeof text - 1, 0);
        ::close(descriptor);
        if (failure != EWOULDBLOCK) return base::errno_error("cannot lock " + path, failure);
        std::string_view pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
        pid = pid.substr(0, pid.find('\n'));
        return base::error{"another server (process " + std::string(pid) + ") serves " + directory +
                           ": stop it first, or use another data directory"};
    }
    auto const end = std::to_chars(text, text + sizeof text - 1, ::getpid()).ptr;
    *end = '\n';
    auto const size = static_cast<std::size_t>(end + 1 - text);
    if (::ftruncate(descriptor, 0) != 0 ||
        ::pwrite(descriptor, text, size, 0) != static_cast<ssize_t>(size)) {
        int const failure = errno;
        ::close(descriptor);
        return base::errno_error("cannot write " + path, failure);
    }
    return descriptor;
}

bool is_claimed(std::string const& directory) {
    int const descriptor = ::open(path_in(directory).c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    bool const locked = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ::close(descriptor);
    return locked;
}

}  // namespace latchkey::store
