// Builds the configuration: flags take precedence over the environment, that over the file, the
// file over the credentials of the service manager, these over the defaults. Names in the file are
// those of server/process/config.hpp's table (`listen`, `[auth] allow_query`); `--auth-allow-query`
// is the flag, `LATCHKEY_AUTH_ALLOW_QUERY` the variable. All that is wrong is reported at once,
// with the line, the variable or the flag.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/frame/cli11_names.hpp"
#include "cli/frame/command_line.hpp"
#include "cli/frame/setting_faults.hpp"
#include "server/process/config.hpp"

namespace latchkey::cli {

// $XDG_STATE_HOME/latchkey, or ~/.local/state/latchkey.
std::string default_data_directory();

// The defaults, overridden by the TOML file. The error names the file, the lines and the settings.
base::result<server::config> load_config(std::string const& path);

// A sentence for each variable LATCHKEY_… that no setting has, with the nearest name of one.
std::vector<std::string> unknown_variables();

struct setting_resolution {
    server::config values;
    setting_faults faults;  // all that is wrong, by place; none: the values are valid
    // usage_error if the value of a flag cannot be read, else configuration_error.
    exit_code code = done;
};

// A command's flags for settings.
class setting_flags {
  public:
    // Adds `--config` and a flag for each setting, or only for those in `only`.
    void add_to(CLI::App& command, std::vector<std::string> const& only = {});
    // The configuration of all sources; without `--config` the file is LATCHKEY_CONFIG.
    // `reads_files`: also tries what the settings name, such as certificates.
    setting_resolution examine(bool reads_files) const;
    // The same without those files. If anything is wrong prints each fault in a line, sets `code`
    // and returns none.
    std::optional<server::config> resolve(int& code) const;
    // Was --config or the flag of a setting given?
    bool is_any_given() const;

  private:
    struct flag {
        server::setting const* setting;
        CLI::Option* option;
        std::vector<std::string> values;
    };
    std::string file_;
    std::vector<std::unique_ptr<flag>> flags_;
};

// Whether a flag, such as `--data`, is that of a setting.
bool is_setting_flag(std::string_view flag);

// Sets one setting from the values of a flag.
base::result<void> assign(server::config& target, server::setting const& setting,
                          std::vector<std::string> const& values);

}  // namespace latchkey::cli
