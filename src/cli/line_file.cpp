#include "cli/line_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/hash.hpp"
#include "base/limits.hpp"
#include "store/bulk_load.hpp"

namespace latchkey::cli {
namespace {

constexpr std::size_t buffer_bytes = 4 * base::limits::mib;
static_assert(buffer_bytes > 2 * line_file::line_bytes_max);

}  // namespace

base::result<line_file> line_file::open(std::string const& path) {
    int const descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return base::errno_error("cannot open " + path, errno);
    line_file made(path, descriptor, 0);
    struct stat found{};
    if (::fstat(descriptor, &found) != 0) return base::errno_error("cannot read " + path, errno);
    // /dev/null is welcome as an empty file.
    if (!S_ISREG(found.st_mode) && !S_ISCHR(found.st_mode))
        return base::error{path +
                           " is no file: it is read twice, and again from the middle when an "
                           "import goes on"};
    made.size_ = static_cast<std::uint64_t>(found.st_size);
    return made;
}

line_file::line_file(std::string path, int descriptor, std::uint64_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size), buffer_(buffer_bytes) {}

line_file::line_file(line_file&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      offset_(other.offset_),
      buffer_(std::move(other.buffer_)),
      from_(other.from_),
      to_(other.to_) {}

line_file::~line_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

base::result<line_file::survey> line_file::look_over() {
    if (auto const there = go_to(0); !there) return there.error();
    survey found;
    while (from_ < to_ || fill()) {
        std::string_view const some(buffer_.data() + from_, to_ - from_);
        auto const end = some.rfind('\n');
        // At the end of the file, or where no line ends, what there is.
        auto const whole = some.substr(0, end == some.npos ? some.size() : end + 1);
        found.hash = base::mix(found.hash, base::hash(whole));
        for (auto rest = whole; !rest.empty();) {
            auto const stop = std::min(rest.find('\n'), rest.size());
            // An id that no line may have must not use up those below it.
            if (auto const id = id_on(rest.substr(0, stop)); id <= store::load_id_max)
                found.highest_id = std::max(found.highest_id, id);
            rest.remove_prefix(std::min(stop + 1, rest.size()));
        }
        from_ += whole.size();
        if (from_ != to_) fill();
    }
    if (failure_) return *failure_;
    if (auto const back = go_to(0); !back) return back.error();
    return found;
}

base::result<void> line_file::go_to(std::uint64_t offset) {
    if (::lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0)
        return base::errno_error("cannot read " + path_, errno);
    offset_ = offset;
    from_ = to_ = 0;
    return {};
}

// More behind what there is, as much as the buffer takes, so that where the pieces of a file end
// does not depend on how it was read. False: there is no more.
bool line_file::fill() {
    std::memmove(buffer_.data(), buffer_.data() + from_, to_ - from_);
    to_ -= std::exchange(from_, 0);
    auto const before = to_;
    while (to_ < buffer_.size()) {
        auto const got = ::read(descriptor_, buffer_.data() + to_, buffer_.size() - to_);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) failure_ = base::errno_error("cannot read " + path_, errno);
        if (got <= 0) break;
        to_ += static_cast<std::size_t>(got);
    }
    return to_ != before;
}

std::optional<std::string_view> line_file::next() {
    auto const find_end = [&] { return std::find(&buffer_[from_], buffer_.data() + to_, '\n'); };
    auto end = from_ == to_ ? buffer_.data() + to_ : find_end();
    // Also without more, since what there is moved to the front.
    if (end == buffer_.data() + to_) {
        fill();
        end = find_end();
    }
    if (failure_ || from_ == to_) return std::nullopt;
    std::string_view const line(&buffer_[from_], end);
    // The last line needs no end.
    bool const ended = end != buffer_.data() + to_;
    auto const used = line.size() + (ended ? 1 : 0);
    from_ += used;
    offset_ += used;
    too_long_ = line.size() > line_bytes_max;
    if (!ended && line.size() == buffer_.size()) return skip_line();
    return line.substr(0, line_bytes_max);
}

// The rest of a line that fills the whole buffer.
std::string_view line_file::skip_line() {
    for (bool ended = false; !ended && fill();) {
        auto const end = std::find(&buffer_[from_], buffer_.data() + to_, '\n');
        ended = end != buffer_.data() + to_;
        auto const used = static_cast<std::size_t>(end - &buffer_[from_]) + (ended ? 1 : 0);
        from_ += used;
        offset_ += used;
    }
    return {};
}

model::id id_on(std::string_view line) {
    static constexpr std::string_view name = "\"id\"";
    auto const at = line.find(name);
    if (at == line.npos) return 0;
    auto rest = line.substr(at + name.size());
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
