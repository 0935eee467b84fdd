#include "cli/frame/whole_number.hpp"

#include <CLI/CLI.hpp>
#include <charconv>

namespace latchkey::cli {

std::optional<std::uint64_t> parse_whole_number(std::string_view text) {
    if (text.size() > 1 && text.starts_with('0')) return std::nullopt;
    std::uint64_t number = 0;
    auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

CLI::Option* take_number(CLI::Option* option, std::uint64_t least, std::uint64_t most) {
    auto const range = "from " + std::to_string(least) + " to " + std::to_string(most);
    return option->type_name("NUMBER " + range)->check([=](std::string const& text) {
        auto const number = parse_whole_number(text);
        if (number && *number >= least && *number <= most) return std::string();
        return "must be a whole number " + range + "; '" + text + "' is not";
    });
}

}  // namespace latchkey::cli
