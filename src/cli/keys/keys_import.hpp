// Takes over keys: lines with digests, or the export of another system.
#pragma once

#include <string>
#include <vector>

#include "cli/frame/cli11_names.hpp"
#include "cli/frame/store_command.hpp"
#include "cli/keys/foreign_keys.hpp"

namespace latchkey::cli {

// --from, and what is chosen for all keys of another system.
struct foreign_options {
    std::string system;  // empty: none, the file has lines of `keys import`
    foreign_choice choice;

    void add_to(CLI::App& command);
    // A sentence that names the options which were given without --from; empty: there are none.
    std::string misplaced() const;
};

// `-` is standard input. The exit code.
int import_keys(store_command const& options, std::string const& path,
                foreign_options const& foreign);

}  // namespace latchkey::cli
