#include "base/system/log.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/clock.hpp"
#include "base/system/write_now.hpp"
#include "base/visible.hpp"

namespace latchkey::base {
namespace {

constexpr std::array<std::string_view, 3> names = {"info", "warning", "error"};

// One word, so that a message of any thread has one style or the other.
std::atomic<log_style> current_style{log_style{}};
static_assert(std::atomic<log_style>::is_always_lock_free);

std::string text_line(severity level, std::string_view sentence) {
    std::string line("latchkey: ");
    if (level != severity::info) line.append(name_of(level)).append(": ");
    return line.append(visible(sentence)).append("\n");
}

// `visible` leaves no control character; what is left for JSON are quotes and backslashes (RFC 8259
// §7).
std::string json_line(severity level, std::string_view sentence) {
    std::array<char, timestamp_bytes> time;
    format_timestamp(read_clocks().clock, time.data());
    std::string line("{\"ts\":\"");
    line.append(time.data(), time.size()).append("\",\"level\":\"").append(name_of(level));
    line.append("\",\"message\":\"");
    for (char const byte : visible(sentence)) {
        if (byte == '"' || byte == '\\') line += '\\';
        line += byte;
    }
    return line.append("\"}\n");
}

std::string line_of(severity level, std::string_view sentence) {
    return current_style.load().json ? json_line(level, sentence) : text_line(level, sentence);
}

std::atomic<bool> drops_unread{false};

// Standard error where messages may be lost. The lock is never held while somebody waits.
class unread_messages {
  public:
    void put(std::string const& line) {
        std::lock_guard const lock(mutex_);
        if (losses_ != 0 &&
            write_all(line_of(severity::warning, std::to_string(losses_) +
                                                     " messages were lost, because standard error "
                                                     "was not read")))
            losses_ = 0;
        if (losses_ != 0 || !write_all(line)) ++losses_;
    }

  private:
    bool write_all(std::string_view line) {
        auto const whole = is_cut_ ? "\n" + std::string(line) : std::string(line);
        for (std::string_view rest = whole; !rest.empty();) {
            auto const count = write_now(STDERR_FILENO, rest);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) return false;
            rest.remove_prefix(static_cast<std::size_t>(count));
            is_cut_ = !rest.empty();
        }
        return true;
    }

    std::mutex mutex_;
    std::uint64_t losses_ = 0;
    bool is_cut_ = false;  // what was written last does not end its line
};

}  // namespace

std::string_view name_of(severity level) {
    return names[static_cast<std::size_t>(level)];
}

std::optional<severity> find_severity(std::string_view name) {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == name) return static_cast<severity>(i);
    return std::nullopt;
}

void set_log_style(log_style style) {
    current_style.store(style);
}

log_style current_log_style() {
    return current_style.load();
}

void put_log_style_into_environment() {
    auto const style = current_log_style();
    ::setenv("LATCHKEY_LOG_FORMAT", style.json ? "json" : "text", 1);
    ::setenv("LATCHKEY_LOG_LEVEL", std::string(name_of(style.least)).c_str(), 1);
}

log_style log_style_of_environment() {
    auto const* const format = std::getenv("LATCHKEY_LOG_FORMAT");
    auto const* const level = std::getenv("LATCHKEY_LOG_LEVEL");
    return {.json = format != nullptr && std::string_view(format) == "json",
            .least = find_severity(level != nullptr ? level : "").value_or(severity::info)};
}

void log(severity level, std::string_view sentence) {
    if (level < current_log_style().least) return;
    auto const line = line_of(level, sentence);
    static unread_messages unread;
    if (drops_unread.load()) return unread.put(line);
    // One write call, so that lines of several threads do not mix. A failure cannot be reported.
    [[maybe_unused]] auto const result = ::write(STDERR_FILENO, line.data(), line.size());
}

void drop_unread_messages() {
    drops_unread.store(true);
}

}  // namespace latchkey::base
