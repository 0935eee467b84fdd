// What is wrong with the configuration, and where: a line of the file, a variable or a flag. Values
// and pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey::cli {

struct setting_place {
    std::string file;
    std::uint32_t line = 0;  // 0: none
    std::string source;      // "LATCHKEY_WORKERS", "--workers"; empty: the file, or no place
    // Of the elements of a list, or of the tables [[jwt]].
    std::vector<std::uint32_t> element_lines = {};
};

struct setting_fault {
    setting_place place;
    std::string setting;  // empty: it is of none
    std::string message;  // a sentence that names the setting
};
using setting_faults = std::vector<setting_fault>;

// Those of the file come first, in the order of its lines, then the others as they were found.
void sort_by_place(setting_faults& faults);

// "latchkey.toml: workers must be a whole number (line 1)", "--workers: …".
std::string sentence_of(setting_fault const& fault);
// All of them in one line.
std::string sentence_of(setting_faults const& faults);
// [{"file":…,"line":…,"source":…,"setting":…,"message":…}], null where there is none.
std::string json_of(setting_faults const& faults);

// "; did you mean auth.allow_query?", or nothing.
std::string hint_of(std::string_view name, std::vector<std::string_view> const& names);

}  // namespace latchkey::cli
