#include "server/observe/operation_times.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "base/system/descriptor.hpp"

namespace latchkey::server {
namespace {

constexpr std::string_view good = "ok ", bad = "failed ";

std::string note_path(std::string const& data) {
    return data + "/backup.state";
}

}  // namespace

std::optional<operation_time> read_backup_note(std::string const& data) {
    auto const file = base::open_file(note_path(data), O_RDONLY);
    std::array<char, 64> bytes;
    auto const size = file.is_open() ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
    if (size <= 0) return std::nullopt;
    std::string_view text(bytes.data(), static_cast<std::size_t>(size));
    operation_time note{.succeeded = text.starts_with(good)};
    if (!note.succeeded && !text.starts_with(bad)) return std::nullopt;
    text.remove_prefix(note.succeeded ? good.size() : bad.size());
    auto const* const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, note.success_at).ec != std::errc()) return std::nullopt;
    return note;
}

// Renamed, so that a reader sees one note or the other. The service may run as another user than
// the command; the directory is closed to all others.
base::result<void> write_backup_note(std::string const& data, bool succeeded, base::wall_ms now) {
    auto const previous = read_backup_note(data);
    auto const success_at = succeeded ? now : previous ? previous->success_at : 0;
    auto const text = std::string(succeeded ? good : bad) + std::to_string(success_at) + "\n";
    auto const path = note_path(data), temporary = path + ".new";
    ::unlink(temporary.c_str());  // left over, or laid there: it would be written through
    auto const file = base::open_file(temporary, O_WRONLY | O_CREAT | O_EXCL);
    if (!file.is_open() || ::fchmod(file.get(), 0644) != 0 ||
        ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return base::errno_error("cannot write " + temporary, errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0)
        return base::errno_error("cannot make " + path, errno);
    return {};
}

}  // namespace latchkey::server
