#include "cli/frame/confirm.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "base/system/log.hpp"
#include "base/visible.hpp"

namespace latchkey::cli {

void add_confirmation(CLI::App& command, bool& is_confirmed) {
    command.add_flag("--yes", is_confirmed, "Do not ask, also without a terminal");
}

bool can_ask() {
    return ::isatty(STDIN_FILENO) != 0;
}

std::optional<int> confirm(std::string const& consequence, bool is_confirmed) {
    if (is_confirmed) return std::nullopt;
    if (!can_ask()) {
        base::log(base::severity::failure,
                  consequence +
                      "; nothing was changed, since there is no terminal to ask at: "
                      "--yes confirms it");
        return unconfirmed;
    }
    std::fprintf(stderr, "latchkey: %s. Go on? [y/N] ", base::visible(consequence).c_str());
    std::string answer;
    std::getline(std::cin, answer);
    if (answer == "y" || answer == "Y" || answer == "yes") return std::nullopt;
    base::log("nothing was changed");
    return unconfirmed;
}

}  // namespace latchkey::cli
