#include "server/access_log.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "api/json_writer.hpp"
#include "base/log.hpp"

namespace latchkey::server {
namespace {

constexpr std::size_t waiting_bytes_max = 16 * 1024 * 1024;
// What a burst makes beyond these is freed again.
constexpr std::size_t spare_buffers_max = 16;
constexpr std::size_t spare_buffer_bytes_max = 2 * log_batch_bytes;
// Made at the start, so that a thread the machine lets wait for a moment costs nobody an
// allocation.
constexpr std::size_t first_buffers = 8;
constexpr std::size_t method_bytes_max = 32;
constexpr std::size_t path_bytes_max = 1024;
constexpr std::size_t agent_bytes_max = 256;

constexpr int dont_cache = 0x80;  // RWF_DONTCACHE, Linux 6.14
constexpr std::size_t passing_bytes_min = 32 * 1024;
constexpr std::size_t page_bytes = 4096;

// More than a line takes beside what clients chose, and what of that it takes when all is escaped.
constexpr std::size_t rest_bytes_max = 1024;
constexpr std::size_t escape_bytes_max = 6;
constexpr std::size_t line_bytes_max =
    rest_bytes_max + escape_bytes_max * (method_bytes_max + path_bytes_max + agent_bytes_max);

void put_text(base::text_writer& to, std::string_view value) {
    value.empty() ? void(to.put("null")) : api::put_string(to, value);
}
// A member whose name is given with the quote that its value begins with. The value is of ours: it
// needs no escaping.
template <std::size_t Size>
void put_plain(base::text_writer& to, char const (&opening)[Size], std::string_view value) {
    if (value.empty())
        to.put({opening, Size - 2}).put("null");
    else
        to.put({opening, Size - 1}).put(value).put('"');
}

base::result<int> open_file(std::string const& path) {
    if (path == "-") return STDOUT_FILENO;
    int const fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0) return base::errno_error("cannot open the access log " + path, errno);
    return fd;
}

void close_file(int fd) {
    if (fd > STDERR_FILENO) ::close(fd);
}

}  // namespace

void log_entry::begin(std::string_view verb, std::string_view raw_path, std::string_view agent,
                      base::instant now) {
    method = verb.substr(0, method_bytes_max);
    path = raw_path.substr(0, path_bytes_max);
    user_agent = agent.substr(0, agent_bytes_max);
    kept_.clear();
    request_id.clear();
    refused_unparsed = false;
    began = now;
    bytes_in = bytes_out = 0;
    status = 0;
    code = base::problem::none;
}

void log_entry::keep() {
    if (!kept_.empty()) return;  // they are its own already, and it cannot be made of itself
    kept_.assign(method).append(path).append(user_agent);
    std::string_view rest = kept_;
    for (auto* const each : {&method, &path, &user_agent}) {
        auto const size = each->size();
        *each = rest.substr(0, size);
        rest.remove_prefix(size);
    }
}

void append_line(log_entry const& entry, api::exchange const* exchange, api::peer const& from,
                 base::mono_ns duration, std::string& to) {
    char text[line_bytes_max];  // more than a line mostly takes, but nobody fills it
    base::text_writer line(text, sizeof text);
    line.put("{\"ts\":");
    api::put_timestamp(line, entry.began.wall);
    put_plain(line, ",\"request_id\":\"",
              exchange ? exchange->request_id() : std::string_view(entry.request_id));
    put_plain(line, ",\"trace_id\":\"", exchange ? exchange->trace_id() : std::string_view());
    line.put(",\"key_id\":");
    exchange && exchange->key_id() != 0 ? line.number(exchange->key_id()) : line.put("null");
    put_plain(line, ",\"project\":\"", exchange ? exchange->project() : std::string_view());
    put_text(line.put(",\"method\":"), entry.method);
    put_plain(line, ",\"route\":\"", exchange ? exchange->route() : std::string_view());
    put_text(line.put(",\"path\":"), entry.path);
    line.put(",\"status\":").number(entry.status);
    put_plain(line, ",\"code\":\"", base::describe(entry.code).name);
    line.put(",\"bytes_in\":").number(entry.bytes_in);
    line.put(",\"bytes_out\":").number(entry.bytes_out);
    line.put(",\"duration_us\":").number(duration / 1000);
    auto const& client = exchange && exchange->client() ? exchange->client() : from.client;
    line.put(",\"ip\":");
    client ? client->put(line.put('"')), void(line.put('"')) : void(line.put("null"));
    put_text(line.put(",\"user_agent\":"), entry.user_agent);
    put_plain(line, ",\"key_source\":\"",
              exchange ? name_of(exchange->source()) : std::string_view());
    line.put("}\n");
    to.append(text, line.at());
}

log_thread::log_thread() {
    full_.reserve(spare_buffers_max);
    empty_.reserve(spare_buffers_max);
    batch_.reserve(spare_buffers_max);
    for (std::size_t i = 0; i < first_buffers; ++i)
        empty_.emplace_back().reserve(log_buffer_bytes);
}

base::result<std::unique_ptr<log_thread>> log_thread::open(std::string path) {
    std::unique_ptr<log_thread> made(new log_thread);
    if (auto const opened = made->reopen(path); !opened) return opened.error();
    return made;
}

log_thread::~log_thread() {
    if (!thread_.joinable()) return;
    {
        std::lock_guard const hold(mutex_);
        stopping_ = true;
    }
    change_.notify_one();
    thread_.join();
    close_file(fd_);
}

base::result<void> log_thread::reopen(std::string const& path) {
    if (path.empty()) {
        on_ = false;
        return {};
    }
    auto const opened = open_file(path);
    if (!opened) return opened.error();
    if (!thread_.joinable()) {
        fd_ = *opened;
        thread_ = std::thread([this] { run(); });
    } else {
        std::lock_guard const hold(mutex_);
        close_file(std::exchange(next_fd_, *opened));
        before_next_ = full_.size();
    }
    change_.notify_one();
    on_ = true;
    return {};
}

void log_thread::hand_over(std::string& lines) {
    {
        std::lock_guard const hold(mutex_);
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
    std::unique_lock hold(mutex_);
    for (;;) {
        change_.wait(hold, [this] { return stopping_ || next_fd_ >= 0 || !full_.empty(); });
        batch_.swap(full_);
        int const next = std::exchange(next_fd_, -1);
        auto const old = next >= 0 ? before_next_ : batch_.size();
        bool const last = stopping_;
        hold.unlock();
        for (std::size_t i = 0; i < old; ++i) write_all(batch_[i]);
        if (next >= 0) go_over_to(next);
        for (std::size_t i = old; i < batch_.size(); ++i) write_all(batch_[i]);
        hold.lock();
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

void log_thread::go_over_to(int fd) {
    if (fd != fd_) close_file(std::exchange(fd_, fd));
    cut_ = false;
    passes_cache_ = true;
}

// A disk that fills up may take half of a line; what comes after it begins with an end of line, so
// that only this one is broken.
void log_thread::write_all(std::string_view lines) {
    char last = '\n';
    while (!lines.empty()) {
        auto const batch = cut_ ? std::string_view("\n") : lines;
        auto const written = write_some(batch);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            cut_ = cut_ || last != '\n';
            return count_lost(lines);
        }
        if (std::exchange(cut_, false)) continue;
        last = lines[static_cast<std::size_t>(written) - 1];
        lines.remove_prefix(static_cast<std::size_t>(written));
    }
}

// Nobody reads a log again soon. What leaves the page cache at once leaves it to the store, and a
// copy into the same few pages costs a fraction of one into ever new ones. That holds for whole
// pages: one that is left half full would have to be read back from the disk for the next line.
ssize_t log_thread::write_some(std::string_view lines) {
    if (passes_cache_ && lines.size() >= passing_bytes_min) {
        auto const end = ::lseek(fd_, 0, SEEK_CUR);
        auto const in_page = static_cast<std::size_t>(end > 0 ? end : 0) % page_bytes;
        if (in_page != 0) {
            lines = lines.substr(0, page_bytes - in_page);
        } else {
            auto const whole = lines.size() / page_bytes * page_bytes;
            iovec const pages{const_cast<char*>(lines.data()), whole};
            auto const written = ::pwritev2(fd_, &pages, 1, -1, dont_cache);
            if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) return written;
            passes_cache_ = false;  // an older kernel, a pipe, or a file system that cannot
        }
    }
    return ::write(fd_, lines.data(), lines.size());
}

void log_thread::count_lost(std::string_view lines) {
    dropped_.fetch_add(static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n')),
                       std::memory_order_relaxed);
}

}  // namespace latchkey::server
