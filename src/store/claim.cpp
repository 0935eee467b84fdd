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

// Whom others are told of. A disk that is full must not keep a server from starting, so this may
// fail; what is written over takes no new block.
void note_process(int descriptor) {
    char text[24];
    auto const end = std::to_chars(text, text + sizeof text - 1, ::getpid()).ptr;
    *end = '\n';
    auto const size = end + 1 - text;
    auto const kept =
        ::pwrite(descriptor, text, static_cast<std::size_t>(size), 0) == size ? size : 0;
    [[maybe_unused]] auto const cut = ::ftruncate(descriptor, kept);
}

std::string noted_process(int descriptor) {
    char text[24];
    auto const size = ::pread(descriptor, text, sizeof text, 0);
    std::string_view pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
    pid = pid.substr(0, pid.find('\n'));
    return pid.empty() ? std::string() : "(process " + std::string(pid) + ") ";
}

}  // namespace

base::result<int> claim_directory(std::string const& directory) {
    auto const path = path_in(directory);
    int const descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return base::errno_error("cannot open " + path, errno);
    if (!lock_within_patience(descriptor)) {
        int const failure = errno;
        auto const process = noted_process(descriptor);
        ::close(descriptor);
        if (failure != EWOULDBLOCK) return base::errno_error("cannot lock " + path, failure);
        return base::error{"another server " + process + "serves " + directory +
                           ": stop it first, or use another data directory"};
    }
    note_process(descriptor);
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
