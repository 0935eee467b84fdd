// The file of the access log; access_line.hpp makes its lines. Each worker collects them in a
// buffer of its own and submits it, at 256 KiB or after 250 ms, to one thread that writes the file.
// No request waits for the log: lines that the thread cannot take are dropped and counted.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/time_units.hpp"

namespace latchkey::server {

// The size at which a worker submits its buffer, and the capacity of buffers: that and one more
// line, so that none grows.
inline constexpr std::size_t log_batch_bytes = 256 * 1024;
inline constexpr std::size_t log_buffer_bytes = log_batch_bytes + 16 * 1024;

// The thread that writes the log. Thread-safe.
class log_thread {
  public:
    // `path`: a file (appended to, 0640) or a pipe that is read, "-" for standard output, "" for
    // nothing at all.
    static base::result<std::unique_ptr<log_thread>> open(std::string path);
    // Writes what waits; what a pipe that nobody reads does not take within a second is lost.
    ~log_thread();
    log_thread(log_thread const&) = delete;
    log_thread& operator=(log_thread const&) = delete;

    bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
    // Takes the lines and returns an empty buffer in their place. Never blocks on the disk; with
    // 16 MiB waiting to be written, further lines are dropped and counted.
    void submit(std::string& lines);
    // Opens the file (again after a log rotation, or another one; "" ends logging) and switches to
    // it. On an error the old file stays in use. Main thread only.
    base::result<void> reopen(std::string const& path);
    // Lines that were lost because the thread or the disk did not keep up. Any thread.
    std::uint64_t dropped() const { return losses_.load(std::memory_order_relaxed); }

  private:
    log_thread();
    void run();
    void switch_file(int fd);
    void write_all(std::string_view lines);
    bool await_room();
    ssize_t write_some(std::string_view lines);
    void count_lost(std::string_view lines);

    int fd_ = -1;       // used by the thread only
    int next_fd_ = -1;  // the file to switch to, after so many batches of `full_`:
    std::size_t batches_before_switch_ = 0;
    std::atomic<bool> enabled_{false};
    std::mutex mutex_;
    std::condition_variable change_;
    std::vector<std::string> full_, empty_;
    std::vector<std::string> batch_;  // being written; used by the thread only
    std::size_t waiting_bytes_ = 0;
    bool stopping_ = false;
    std::atomic<std::uint64_t> losses_{0};
    bool line_cut_ = false;           // the file ends within a line; used by the thread only
    base::mono_ns patience_end_ = 0;  // of a full pipe; 0: none. Used by the thread only
    bool uncached_writes_ = true;     // until a write says otherwise; used by the thread only
    std::thread thread_;
};

// A worker's buffer; worker thread only.
class access_log_buffer {
  public:
    explicit access_log_buffer(log_thread& log) : log_(log) {
        if (log_.enabled()) lines_.reserve(log_buffer_bytes);
    }
    bool enabled() const { return log_.enabled(); }
    // Where the next line is appended.
    std::string& lines(base::mono_ns now) {
        if (lines_.size() >= log_batch_bytes) flush();
        if (lines_.empty()) oldest_ = now;
        return lines_;
    }
    // Submits a buffer that is old enough.
    void turn(base::mono_ns now) {
        if (now - oldest_ >= age_max) flush();
    }
    void flush() {
        if (!lines_.empty()) log_.submit(lines_);
    }
    // When `turn` must be called again; 0: never.
    base::mono_ns due() const { return lines_.empty() ? 0 : oldest_ + age_max; }

  private:
    static constexpr base::mono_ns age_max = 250 * base::millisecond;

    log_thread& log_;
    std::string lines_;
    base::mono_ns oldest_ = 0;
};

}  // namespace latchkey::server
