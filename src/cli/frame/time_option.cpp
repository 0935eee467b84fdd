#include "cli/frame/time_option.hpp"

#include <CLI/CLI.hpp>

#include "base/clock.hpp"

namespace latchkey::cli {

CLI::Option* take_time(CLI::Option* option) {
    return option->type_name("TIME")->transform([](std::string text) {
        constexpr std::size_t day_bytes = 10;
        auto const beginning = text + "T00:00:00Z";
        return text.size() == day_bytes && base::parse_timestamp(beginning) ? beginning : text;
    });
}

}  // namespace latchkey::cli
