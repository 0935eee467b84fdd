#include "server/observe/process_stats.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>

namespace latchkey::server {
namespace {

std::uint64_t descriptor_limit() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace

process_stats::process_stats()
    : stat_(base::open_file("/proc/self/stat", O_RDONLY)),
      descriptors_(::opendir("/proc/self/fd")),
      descriptors_max_(descriptor_limit()),
      ticks_per_second_(static_cast<double>(::sysconf(_SC_CLK_TCK))),
      page_bytes_(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))) {}

void process_stats::directory_closer::operator()(DIR* directory) const {
    ::closedir(directory);
}

std::optional<process_stats::reading> process_stats::read() const {
    std::array<char, 1024> text;
    auto const size = ::pread(stat_.get(), text.data(), text.size(), 0);
    if (size <= 0 || descriptors_ == nullptr) return std::nullopt;
    auto const numbers = parse_stat({text.data(), static_cast<std::size_t>(size)});
    if (!numbers) return std::nullopt;
    reading result{.cpu_seconds = static_cast<double>(numbers->ticks) / ticks_per_second_,
                   .virtual_bytes = numbers->virtual_bytes,
                   .resident_bytes = numbers->resident_pages * page_bytes_,
                   .open_descriptors = 0,
                   .descriptors_max = descriptors_max_};
    ::rewinddir(descriptors_.get());
    while (auto const* const entry = ::readdir(descriptors_.get()))
        if (entry->d_name[0] != '.') ++result.open_descriptors;
    return result;
}

// The second field, the name of the program, may have spaces and parentheses.
std::optional<stat_numbers> parse_stat(std::string_view text) {
    auto const name_end = text.rfind(')');
    if (name_end == text.npos) return std::nullopt;
    text.remove_prefix(name_end + 1);
    std::array<std::uint64_t, 25> fields{};
    for (std::size_t field = 3; field < fields.size(); ++field) {
        auto const begin = text.find_first_not_of(' ');
        if (begin == text.npos) return std::nullopt;
        text.remove_prefix(begin);
        auto const end = text.find(' ');
        auto const word = text.substr(0, end);
        bool const counts = field == 14 || field == 15 || field >= 23;
        auto const read = std::from_chars(word.data(), word.data() + word.size(), fields[field]);
        if (counts && read.ec != std::errc()) return std::nullopt;
        text.remove_prefix(word.size());
    }
    return stat_numbers{.ticks = fields[14] + fields[15],
                        .virtual_bytes = fields[23],
                        .resident_pages = fields[24]};
}

}  // namespace latchkey::server
