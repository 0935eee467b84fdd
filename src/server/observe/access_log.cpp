// Buffers go round: a worker swaps its full one for an empty one under a lock, and the writing
// thread takes all that are full at once. After `reopen` the batches submitted before it still go
// to the old file. Large writes bypass the page cache where the kernel can.
#include "server/observe/access_log.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "base/system/descriptor.hpp"
#include "base/system/log.hpp"
#include "base/system/standard_streams.hpp"
#include "base/system/write_now.hpp"

namespace latchkey::server {
namespace {

constexpr std::size_t waiting_bytes_max = 16 * 1024 * 1024;
// Buffers beyond these, from a burst, are freed.
constexpr std::size_t spare_buffers_max = 16;
constexpr std::size_t spare_buffer_bytes_max = 2 * log_batch_bytes;
// Allocated at the start, so that a short stall of the writing thread costs workers no allocation.
constexpr std::size_t first_buffers = 8;

constexpr int dont_cache = 0x80;  // RWF_DONTCACHE, Linux 6.14
constexpr std::size_t uncached_bytes_min = 32 * 1024;
constexpr std::size_t page_bytes = 4096;

// How long a full pipe may keep lines from a stop, or from another file.
constexpr base::mono_ns patience = base::second;
constexpr int look_every_ms = 50;

base::result<int> open_file(std::string const& path) {
    if (path == "-" && !base::is_writable(STDOUT_FILENO))
        return base::error{"the access log is standard output, which is closed"};
    if (path == "-") return STDOUT_FILENO;
    constexpr int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
    int fd = ::open(path.c_str(), flags, 0640);
    if (fd < 0 && errno == ENXIO) {
        // A pipe that nobody reads yet can be opened beside a reader of our own.
        auto const reader = base::open_file(path, O_RDONLY | O_NONBLOCK);
        fd = ::open(path.c_str(), flags, 0640);
    }
    if (fd < 0) return base::errno_error("cannot open the access log " + path, errno);
    return fd;
}

void close_file(int fd) {
    if (fd > STDERR_FILENO) ::close(fd);
}

}  // namespace

log_thread::log_thread() {
    full_.reserve(spare_buffers_max);
    empty_.reserve(spare_buffers_max);
    batch_.reserve(spare_buffers_max);
    for (std::size_t i = 0; i < first_buffers; ++i) empty_.emplace_back().reserve(log_buffer_bytes);
}

base::result<std::unique_ptr<log_thread>> log_thread::open(std::string path) {
    std::unique_ptr<log_thread> log(new log_thread);
    if (auto const result = log->reopen(path); !result) return result.error();
    return log;
}

log_thread::~log_thread() {
    if (!thread_.joinable()) return;
    {
        std::lock_guard const lock(mutex_);
        stopping_ = true;
    }
    change_.notify_one();
    thread_.join();
    close_file(fd_);
}

base::result<void> log_thread::reopen(std::string const& path) {
    if (path.empty()) {
        enabled_ = false;
        return {};
    }
    auto const result = open_file(path);
    if (!result) return result.error();
    if (!thread_.joinable()) {
        fd_ = *result;
        thread_ = std::thread([this] { run(); });
    } else {
        std::lock_guard const lock(mutex_);
        close_file(std::exchange(next_fd_, *result));
        batches_before_switch_ = full_.size();
    }
    change_.notify_one();
    enabled_ = true;
    return {};
}

void log_thread::submit(std::string& lines) {
    {
        std::lock_guard const lock(mutex_);
        if (waiting_bytes_ + lines.size() <= waiting_bytes_max) {
            waiting_bytes_ += lines.size();
            full_.push_back(std::move(lines));
            lines = {};
            if (!empty_.empty()) lines = std::move(empty_.back()), empty_.pop_back();
        } else {
            count_lost(lines);
        }
    }
    lines.clear();
    change_.notify_one();
}

void log_thread::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        change_.wait(lock, [this] { return stopping_ || next_fd_ >= 0 || !full_.empty(); });
        batch_.swap(full_);
        int const next = std::exchange(next_fd_, -1);
        auto const old_file_count = next >= 0 ? batches_before_switch_ : batch_.size();
        bool const last = stopping_;
        lock.unlock();
        if (next >= 0) patience_end_ = base::read_mono() + patience;
        for (std::size_t i = 0; i < old_file_count; ++i) write_all(batch_[i]);
        if (next >= 0) switch_file(next);
        for (std::size_t i = old_file_count; i < batch_.size(); ++i) write_all(batch_[i]);
        lock.lock();
        for (auto& lines : batch_) {
            waiting_bytes_ -= lines.size();
            lines.clear();
            if (empty_.size() < spare_buffers_max && lines.capacity() <= spare_buffer_bytes_max)
                empty_.push_back(std::move(lines));
        }
        batch_.clear();
        if (last && full_.empty()) return;
    }
}

void log_thread::switch_file(int fd) {
    if (fd != fd_) close_file(std::exchange(fd_, fd));
    line_cut_ = false;
    uncached_writes_ = true;
    patience_end_ = 0;
}

// A full disk may take part of a line; the next write then starts with a line end, so that only
// that line is broken.
void log_thread::write_all(std::string_view lines) {
    char last = '\n';
    while (!lines.empty()) {
        auto const batch = line_cut_ ? std::string_view("\n") : lines;
        auto const count = write_some(batch);
        if (count < 0 && errno == EINTR) continue;
        // A named pipe can get another reader.
        bool const can_wait = errno == EAGAIN || (errno == EPIPE && fd_ > STDERR_FILENO);
        if (count < 0 && can_wait && await_room()) continue;
        if (count <= 0) {
            line_cut_ = line_cut_ || last != '\n';
            return count_lost(lines);
        }
        if (std::exchange(line_cut_, false)) continue;
        last = lines[static_cast<std::size_t>(count) - 1];
        lines.remove_prefix(static_cast<std::size_t>(count));
    }
}

// False: a stop or another file has waited long enough for the reader of a pipe.
bool log_thread::await_room() {
    auto const now = base::read_mono();
    if (patience_end_ == 0) {
        std::lock_guard const lock(mutex_);
        if (stopping_ || next_fd_ >= 0) patience_end_ = now + patience;
    }
    if (patience_end_ != 0 && now >= patience_end_) return false;
    pollfd room{fd_, POLLOUT, 0};
    if (::poll(&room, 1, look_every_ms) > 0 && (room.revents & POLLERR) != 0)
        ::poll(nullptr, 0, look_every_ms);  // nobody reads, which ends no poll
    return true;
}

// Uncached buffered writes (RWF_DONTCACHE): a log is not read again soon, so its pages leave the
// page cache to the store, and copying into the same few pages saves a tenth of a request's CPU
// time. Whole pages only: a partial one would have to be read back from the disk for the next line.
ssize_t log_thread::write_some(std::string_view lines) {
    if (uncached_writes_ && lines.size() >= uncached_bytes_min) {
        auto const offset = ::lseek(fd_, 0, SEEK_CUR);
        auto const in_page = static_cast<std::size_t>(offset > 0 ? offset : 0) % page_bytes;
        if (in_page != 0) {
            lines = lines.substr(0, page_bytes - in_page);
        } else {
            auto const whole = lines.size() / page_bytes * page_bytes;
            iovec const pages{const_cast<char*>(lines.data()), whole};
            auto const count = ::pwritev2(fd_, &pages, 1, -1, dont_cache);
            if (count >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) return count;
            uncached_writes_ = false;  // an older kernel, a pipe, or a file system that cannot
        }
    }
    return base::write_now(fd_, lines);
}

void log_thread::count_lost(std::string_view lines) {
    losses_.fetch_add(static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n')),
                      std::memory_order_relaxed);
}

}  // namespace latchkey::server
