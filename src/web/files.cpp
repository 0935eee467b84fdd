#include "web/files.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace latchkey::web {

extern file const embedded_files[];
extern std::size_t const embedded_file_count;

std::span<file const> files() {
    return {embedded_files, embedded_file_count};
}

file const& find_file(std::string_view name) {
    auto const all = files();
    auto const entry = std::ranges::find(all, name, &file::name);
    // Callers name files of this program; the paths of clients are found elsewhere.
    base::check(entry != all.end(), "there is no such file of the pages");
    return *entry;
}

}  // namespace latchkey::web
