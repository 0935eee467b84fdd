#include "store/files/write_lock.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "base/time_units.hpp"
#include "store/files/claim.hpp"

namespace latchkey::store {
namespace {

using base::millisecond;

constexpr base::mono_ns retry_interval = millisecond / 2;
constexpr base::mono_ns yield_interval = 2 * millisecond;
// Enough for a command's transaction.
constexpr base::mono_ns shortened_patience = 500 * millisecond;

void sleep_for(base::mono_ns span) {
    timespec const time{.tv_sec = span / base::second, .tv_nsec = span % base::second};
    ::nanosleep(&time, nullptr);
}

// Returns the mask of before.
sigset_t block_stop_signals() {
    sigset_t stops, previous;
    ::sigemptyset(&stops);
    for (int const number : {SIGTSTP, SIGTTIN, SIGTTOU}) ::sigaddset(&stops, number);
    ::pthread_sigmask(SIG_BLOCK, &stops, &previous);
    return previous;
}

}  // namespace

blocked_stops::blocked_stops() : saved_(block_stop_signals()) {}

blocked_stops::~blocked_stops() {
    ::pthread_sigmask(SIG_SETMASK, &saved_, nullptr);
}

base::result<void> write_lock::open(std::string const& directory) {
    directory_ = directory;
    directory_file_ = base::open_file(directory, O_RDONLY | O_DIRECTORY);
    if (!directory_file_.is_open()) return base::errno_error("cannot open " + directory, errno);
    return {};
}

bool write_lock::acquire(base::mono_ns patience) {
    yield_to_server();
    auto const start = base::read_mono();
    for (bool reported = false;;) {
        if (try_acquire()) return true;
        auto const elapsed = base::read_mono() - start;
        if (elapsed >= patience || (shortened_ && elapsed >= shortened_patience)) return false;
        if (patience == for_ever && elapsed >= base::limits::write_lock_patience_ns && !reported) {
            base::log(base::severity::warning,
                      "waiting for " + holder() + ", which has been writing to the store in " +
                          directory_ + " for a while; if it was stopped, continue or end it");
            reported = true;
        }
        sleep_for(std::min(retry_interval, patience));
    }
}

// Signals are blocked first, so that the process cannot be stopped between the two steps.
bool write_lock::try_acquire() {
    if (!mutex_.try_lock()) return false;
    saved_signals_ = block_stop_signals();
    int code;
    do {
        code = ::flock(directory_file_.get(), LOCK_EX | LOCK_NB);
    } while (code != 0 && errno == EINTR);
    // On a file system without flock, LMDB's own lock must do.
    if (code == 0 || errno != EWOULDBLOCK) return true;
    ::pthread_sigmask(SIG_SETMASK, &saved_signals_, nullptr);
    mutex_.unlock();
    return false;
}

void write_lock::release() {
    auto const saved = saved_signals_;
    ::flock(directory_file_.get(), LOCK_UN);
    released_ = base::read_mono();
    mutex_.unlock();
    ::pthread_sigmask(SIG_SETMASK, &saved, nullptr);
}

// A command that reacquires the lock at once would always win against a server that polls.
void write_lock::yield_to_server() const {
    if (!yields_ || released_ == 0) return;
    auto const idle = base::read_mono() - released_;
    if (idle < yield_interval && is_claimed(directory_)) sleep_for(yield_interval - idle);
}

// From /proc/locks: "7: FLOCK  ADVISORY  WRITE 4711 fd:00:131 0 EOF". On some file systems the
// device numbers there differ, so only the inode is compared.
std::string write_lock::holder() const {
    struct stat own{};
    struct closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, closer> const locks(std::fopen("/proc/locks", "re"));
    char line[256];
    while (locks && ::fstat(directory_file_.get(), &own) == 0 &&
           std::fgets(line, sizeof line, locks.get()) != nullptr) {
        long process = 0;
        unsigned long inode = 0;
        if (std::sscanf(line, "%*u: FLOCK %*s WRITE %ld %*x:%*x:%lu", &process, &inode) == 2 &&
            inode == own.st_ino && process > 0)
            return "process " + std::to_string(process);
    }
    return "another process (lslocks tells which)";
}

}  // namespace latchkey::store
