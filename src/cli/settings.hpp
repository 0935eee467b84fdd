// Where a configuration comes from: the defaults, over them the file, over it the flags. Names in
// the file are those of server/config.hpp's table (`listen`, `[auth] allow_query`); the flag of a
// setting is its name with dashes (`--auth-allow-query`).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "server/config.hpp"

namespace latchkey::cli {

// $XDG_STATE_HOME/latchkey, or ~/.local/state/latchkey.
std::string default_data_directory();

// Defaults with the TOML file over them. The error names the file, the line and the setting.
base::result<server::config> load_config(std::string const& path);

// A command's flags for settings.
class setting_flags {
  public:
    // Adds `--config` and a flag for each setting (or only for those named).
    void add_to(CLI::App& command, std::vector<std::string> const& only = {});
    // File and flags together, validated. `code` says what kind of error it is: wrong_usage of a
    // flag, wrong_configuration otherwise.
    base::result<server::config> resolve(int& code) const;

  private:
    struct given {
        server::setting const* which;
        CLI::Option* option;
        std::vector<std::string> values;
    };
    std::string file_;
    std::vector<std::unique_ptr<given>> flags_;
};

// One value in its text form into the configuration; for flags.
base::result<void> assign(server::config& to, server::setting const& which,
                          std::vector<std::string> const& values);

}  // namespace latchkey::cli
