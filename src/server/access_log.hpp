// The access log (API §13): one JSON line a request, with the key's id and never the key. A worker
// formats into a buffer of its own and hands it, when it is 256 KiB or 250 ms old, to one thread
// that writes files. No request waits for the log: what the thread cannot take is counted and
// dropped.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/exchange.hpp"
#include "base/clock.hpp"
#include "base/problem.hpp"
#include "base/result.hpp"

namespace latchkey::server {

// What a worker hands over at once, and the room that its buffers have: with the lines of the turn
// in which it comes to that.
inline constexpr std::size_t log_batch_bytes = 256 * 1024;
inline constexpr std::size_t log_buffer_bytes = log_batch_bytes + 64 * 1024;

// What the server knows of a request; the rest is the exchange's.
struct log_entry {
    std::string_view method, path, user_agent;
    std::string request_id;  // of a request that never was one
    bool refused_unparsed = false;
    base::instant began;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint16_t status = 0;
    base::problem code = base::problem::none;

    // Of texts that stay where they are, or until `keep`; cut to 32 bytes of method, 1,024 of path
    // and 256 of user agent.
    void begin(std::string_view verb, std::string_view raw_path, std::string_view agent,
               base::instant now);
    // Copies the texts. For a request that is not answered before the bytes it came in are gone;
    // once is enough, and a second time does nothing.
    void keep();

  private:
    std::string kept_;
};

// Appends the line. `exchange` may be null (the parser refused the request).
void append_line(log_entry const& entry, api::exchange const* exchange, api::peer const& from,
                 base::mono_ns duration, std::string& to);

// The thread that writes. Thread-safe.
class log_thread {
  public:
    // `path`: a file (appended to, 0640), "-" for standard output, "" for nothing at all.
    static base::result<std::unique_ptr<log_thread>> open(std::string path);
    ~log_thread();
    log_thread(log_thread const&) = delete;
    log_thread& operator=(log_thread const&) = delete;

    bool on() const { return on_.load(std::memory_order_relaxed); }
    // Takes the lines and gives an empty buffer back. Never blocks on the disk; lines beyond 16 MiB
    // that were not written yet are dropped and counted.
    void hand_over(std::string& lines);
    // Opens the file (anew, after a log rotation moved it away, or another; "" ends logging) and
    // goes over to it. The error: it cannot be opened, and the one before stays in use. One thread.
    base::result<void> reopen(std::string const& path);
    // Lines that were lost, because the thread or the disk did not keep up. Any thread.
    std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  private:
    log_thread();
    void run();
    void go_over_to(int fd);
    void write_all(std::string_view lines);
    ssize_t write_some(std::string_view lines);
    void count_lost(std::string_view lines);

    int fd_ = -1;                  // the thread's own
    int next_fd_ = -1;             // that it is to go over to, once it has written
    std::size_t before_next_ = 0;  // as many of `full_`
    std::atomic<bool> on_{false};
    std::mutex mutex_;
    std::condition_variable change_;
    std::vector<std::string> full_, empty_;
    std::vector<std::string> batch_;  // what the thread writes just now; its own
    std::size_t waiting_bytes_ = 0;
    bool stopping_ = false;
    std::atomic<std::uint64_t> dropped_{0};
    bool cut_ = false;  // the file ends within a line; the thread's own
    bool passes_cache_ = true;  // as far as is known; the thread's own
    std::thread thread_;
};

// A worker's part; its thread only.
class access_log_buffer {
  public:
    explicit access_log_buffer(log_thread& to) : to_(to) {
        if (to_.on()) lines_.reserve(log_buffer_bytes);
    }
    bool on() const { return to_.on(); }
    std::string& lines(base::mono_ns now) {
        if (lines_.empty()) since_ = now;
        return lines_;
    }
    // Hands over what is large or old enough.
    void turn(base::mono_ns now) {
        bool const ripe = lines_.size() >= log_batch_bytes || now - since_ >= age_max;
        if (!lines_.empty() && ripe) flush();
    }
    void flush() {
        if (!lines_.empty()) to_.hand_over(lines_);
    }
    // When `turn` must be called again; 0: need not.
    base::mono_ns due() const { return lines_.empty() ? 0 : since_ + age_max; }

  private:
    static constexpr base::mono_ns age_max = 250'000'000;

    log_thread& to_;
    std::string lines_;
    base::mono_ns since_ = 0;
};

}  // namespace latchkey::server
