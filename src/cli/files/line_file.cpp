// A buffer of 4 MiB slides over the file: what is left of it is moved to the front, then it is
// filled to its end, so the pieces that are hashed do not depend on the sizes of reads. A line that
// fills the buffer is skipped, not kept. A pipe is copied to a file without a name first, since it
// is read twice.
#include "cli/files/line_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/hash.hpp"
#include "base/limits.hpp"
#include "domain/admin/bulk_load.hpp"

namespace latchkey::cli {
namespace {

constexpr std::size_t buffer_bytes = 4 * base::limits::mib;
static_assert(buffer_bytes > 2 * line_file::line_bytes_max);

// A copy without a name, since an import reads its input twice, and resumes from the middle of it.
base::result<base::descriptor> spool(base::descriptor const& input, std::string const& name) {
    auto const* const variable = std::getenv("TMPDIR");
    std::string const folder = variable != nullptr && *variable != '\0' ? variable : "/var/tmp";
    auto copy = base::open_file(folder, O_TMPFILE | O_RDWR);
    if (!copy.is_open())
        return base::errno_error(
            "cannot make a temporary file in " + folder + " (TMPDIR) for " + name, errno);
    std::vector<char> bytes(buffer_bytes);
    for (;;) {
        auto const count = ::read(input.get(), bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return base::errno_error("cannot read " + name, errno);
        if (count == 0) return copy;
        for (ssize_t position = 0; position < count;) {
            auto const part = ::write(copy.get(), bytes.data() + position,
                                      static_cast<std::size_t>(count - position));
            if (part < 0 && errno != EINTR)
                return base::errno_error("cannot keep " + name + " in " + folder + " (TMPDIR)",
                                         errno);
            position += std::max<ssize_t>(part, 0);
        }
    }
}

}  // namespace

base::result<line_file> line_file::open(std::string const& path) {
    bool const is_standard = path == "-";
    base::descriptor input(is_standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                       : base::open_file(path, O_RDONLY).release());
    if (!input.is_open()) return base::errno_error("cannot open " + path, errno);
    struct stat status{};
    if (::fstat(input.get(), &status) != 0) return base::errno_error("cannot read " + path, errno);
    // A pipe or a terminal gives its bytes once. /dev/null is accepted as an empty file.
    if (!S_ISREG(status.st_mode) && (is_standard || !S_ISCHR(status.st_mode))) {
        auto copy = spool(input, is_standard ? "standard input" : path);
        if (!copy) return copy.error();
        input = std::move(*copy);
        if (::fstat(input.get(), &status) != 0)
            return base::errno_error("cannot read " + path, errno);
    }
    line_file file(is_standard ? "standard input" : path, std::move(input));
    file.size_ = static_cast<std::uint64_t>(status.st_size);
    return file;
}

line_file::line_file(std::string path, base::descriptor file)
    : path_(std::move(path)), file_(std::move(file)), buffer_(buffer_bytes) {}

base::result<line_file::scan_result> line_file::scan() {
    if (auto const outcome = seek(0); !outcome) return outcome.error();
    scan_result result;
    while (begin_ < end_ || fill()) {
        std::string_view const bytes(buffer_.data() + begin_, end_ - begin_);
        auto const end = bytes.rfind('\n');
        // Complete lines; at the end of the file, or without a line end, all bytes.
        auto const whole = bytes.substr(0, end == bytes.npos ? bytes.size() : end + 1);
        result.hash = base::mix(result.hash, base::hash(whole));
        for (auto rest = whole; !rest.empty();) {
            auto const stop = std::min(rest.find('\n'), rest.size());
            // An id above the limit must not reserve all ids below it.
            if (auto const id = guess_id(rest.substr(0, stop)); id <= domain::load_id_max)
                result.highest_id = std::max(result.highest_id, id);
            rest.remove_prefix(std::min(stop + 1, rest.size()));
        }
        begin_ += whole.size();
        if (begin_ != end_) fill();
    }
    if (failure_) return *failure_;
    if (auto const outcome = seek(0); !outcome) return outcome.error();
    return result;
}

base::result<void> line_file::seek(std::uint64_t offset) {
    if (::lseek(file_.get(), static_cast<off_t>(offset), SEEK_SET) < 0)
        return base::errno_error("cannot read " + path_, errno);
    offset_ = offset;
    begin_ = end_ = 0;
    return {};
}

// Fills the buffer completely, so that the pieces of a file do not depend on the sizes of reads.
// False: nothing was added.
bool line_file::fill() {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    auto const initial_end = end_;
    while (end_ < buffer_.size()) {
        auto const count = ::read(file_.get(), buffer_.data() + end_, buffer_.size() - end_);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) failure_ = base::errno_error("cannot read " + path_, errno);
        if (count <= 0) break;
        end_ += static_cast<std::size_t>(count);
    }
    return end_ != initial_end;
}

std::optional<std::string_view> line_file::next() {
    auto const find_end = [&] { return std::find(&buffer_[begin_], buffer_.data() + end_, '\n'); };
    auto end = begin_ == end_ ? buffer_.data() + end_ : find_end();
    // Searches again in any case, since `fill` moved the bytes to the front.
    if (end == buffer_.data() + end_) {
        fill();
        end = find_end();
    }
    if (failure_ || begin_ == end_) return std::nullopt;
    std::string_view const line(&buffer_[begin_], end);
    // The last line may lack its end.
    bool const has_end = end != buffer_.data() + end_;
    auto const line_bytes = line.size() + (has_end ? 1 : 0);
    begin_ += line_bytes;
    offset_ += line_bytes;
    too_long_ = line.size() > line_bytes_max;
    if (!has_end && line.size() == buffer_.size()) return skip_line();
    return line.substr(0, line_bytes_max);
}

// Skips the rest of a line that fills the whole buffer.
std::string_view line_file::skip_line() {
    for (bool finished = false; !finished && fill();) {
        auto const end = std::find(&buffer_[begin_], buffer_.data() + end_, '\n');
        finished = end != buffer_.data() + end_;
        auto const line_bytes =
            static_cast<std::size_t>(end - &buffer_[begin_]) + (finished ? 1 : 0);
        begin_ += line_bytes;
        offset_ += line_bytes;
    }
    return {};
}

model::id guess_id(std::string_view line) {
    static constexpr std::string_view name = "\"id\"";
    auto const position = line.find(name);
    if (position == line.npos) return 0;
    auto rest = line.substr(position + name.size());
    auto const skip = [&] {
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    };
    skip();
    if (!rest.starts_with(':')) return 0;
    rest.remove_prefix(1);
    skip();
    model::id id = 0;
    auto const [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), id);
    return failure == std::errc{} && id > 0 ? id : 0;
}

}  // namespace latchkey::cli
