// Builds the configuration: flags take precedence over the file, the file over the defaults. The
// names in the file are those of server/process/config.hpp's table (`listen`, `[auth]
// allow_query`); a flag is the name with dashes (`--auth-allow-query`).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "server/process/config.hpp"

namespace latchkey::cli {

// $XDG_STATE_HOME/latchkey, or ~/.local/state/latchkey.
std::string default_data_directory();

// The defaults, overridden by the TOML file. The error names the file, the line and the setting.
base::result<server::config> load_config(std::string const& path);

// A command's flags for settings.
class setting_flags {
  public:
    // Adds `--config` and a flag for each setting, or only for those in `only`.
    void add_to(CLI::App& command, std::vector<std::string> const& only = {});
    // The validated configuration of file and flags. On an error `code` is usage_error for a flag,
    // otherwise configuration_error.
    base::result<server::config> resolve(int& code) const;
    // Was the flag of that setting given?
    bool is_given(std::string_view name) const;

  private:
    struct flag {
        server::setting const* setting;
        CLI::Option* option;
        std::vector<std::string> values;
    };
    std::string file_;
    std::vector<std::unique_ptr<flag>> flags_;
};

// Sets one setting from the values of a flag.
base::result<void> assign(server::config& target, server::setting const& setting,
                          std::vector<std::string> const& values);

}  // namespace latchkey::cli
