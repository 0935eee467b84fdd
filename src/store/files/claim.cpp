#include "store/files/claim.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace latchkey::store {
namespace {

std::string path_in(std::string const& directory) {
    return directory + "/server.lock";
}

// Retries, since `is_claimed` of another process holds the lock for a moment too.
bool lock_within_patience(int descriptor) {
    for (int attempts = 20;; ::usleep(5000)) {
        if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
        if (errno != EWOULDBLOCK || --attempts == 0) return false;
    }
}

constexpr std::string_view restore_mark = "restore\n";

// Writes the process id and what the process does, for the error that others get. May fail, since a
// full disk must not keep a server from starting; overwriting needs no new block.
void write_process(int descriptor, claimant claimant) {
    auto text = std::to_string(::getpid()) + "\n";
    if (claimant == claimant::restore) text += restore_mark;
    auto const size = static_cast<ssize_t>(text.size());
    auto const size_written = ::pwrite(descriptor, text.data(), text.size(), 0) == size ? size : 0;
    [[maybe_unused]] auto const truncated = ::ftruncate(descriptor, size_written);
}

base::error claim_error(int descriptor, std::string const& directory) {
    char buffer[40];
    auto const size = ::pread(descriptor, buffer, sizeof buffer, 0);
    std::string_view const text(buffer, size > 0 ? static_cast<std::size_t>(size) : 0);
    auto const pid = std::string(text.substr(0, text.find('\n')));
    auto const process = pid.empty() ? std::string() : "(process " + pid + ") ";
    if (text.ends_with(restore_mark))
        return base::error{"latchkey restore " + process + "is at work in " + directory +
                           ": wait until it has ended"};
    return base::error{"another server " + process + "serves " + directory +
                       ": stop it first, or use another data directory"};
}

}  // namespace

base::result<base::descriptor> claim_directory(std::string const& directory, claimant claimant) {
    auto const path = path_in(directory);
    auto file = base::open_file(path, O_RDWR | O_CREAT);
    if (!file.is_open()) return base::errno_error("cannot open " + path, errno);
    if (!lock_within_patience(file.get())) {
        if (errno != EWOULDBLOCK) return base::errno_error("cannot lock " + path, errno);
        return claim_error(file.get(), directory);
    }
    write_process(file.get(), claimant);
    return file;
}

// The rest of the former text becomes empty lines, since a confined service may not cut a file.
void sign_claim(base::descriptor const& claim) {
    auto text = std::to_string(::getpid()) + "\n";
    struct stat file{};
    if (::fstat(claim.get(), &file) == 0 && file.st_size <= 40)
        text.resize(std::max(text.size(), static_cast<std::size_t>(file.st_size)), '\n');
    [[maybe_unused]] auto const size = ::pwrite(claim.get(), text.data(), text.size(), 0);
}

bool is_claim_of(std::string const& directory, base::descriptor const& claim) {
    struct stat file{}, own{};
    return ::stat(path_in(directory).c_str(), &file) == 0 && ::fstat(claim.get(), &own) == 0 &&
           file.st_ino == own.st_ino && file.st_dev == own.st_dev;
}

bool is_claimed(std::string const& directory) {
    auto const file = base::open_file(path_in(directory), O_RDONLY);
    return file.is_open() && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace latchkey::store
