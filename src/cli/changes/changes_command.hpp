// latchkey changes, of the store of this machine or of a service elsewhere.
#pragma once

#include <string>
#include <vector>

#include "cli/frame/api_command.hpp"
#include "cli/frame/json.hpp"

namespace latchkey::cli {

struct changes_options : api_command {
    std::string start;
    std::vector<std::string> types;
    std::uint64_t limit = 0;  // 0: all
    bool follow = false;
};

// A change, of its document in the API, as a line of text.
std::string change_line(json_object const& change);

// The exit code. The types are valid, and interrupts are noted.
int print_changes_elsewhere(changes_options const& options);

}  // namespace latchkey::cli
