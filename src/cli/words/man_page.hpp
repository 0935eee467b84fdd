// The manual page of a command, as text for man(7). Pure; any thread.
#pragma once

#include <string>

#include "cli/words/command_table.hpp"

namespace latchkey::cli {

std::string man_page(command_entry const& entry);

}  // namespace latchkey::cli
