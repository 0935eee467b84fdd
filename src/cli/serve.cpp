#include <cstdio>
#include <memory>

#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/settings.hpp"
#include "server/process/server_identity.hpp"
#include "server/service.hpp"

namespace latchkey::cli {
namespace {

int report(base::error const& failure, int code) {
    base::log(base::severity::failure, failure.message);
    return code;
}

int show(server::config const& configuration) {
    std::string section;
    for (auto const& setting : server::setting_table()) {
        auto const dot = setting.name.find('.');
        auto const table =
            dot == setting.name.npos ? std::string() : std::string(setting.name.substr(0, dot));
        if (table != section) std::printf("\n[%s]\n", table.c_str());
        section = table;
        auto const name = dot == setting.name.npos ? setting.name : setting.name.substr(dot + 1);
        std::printf("# %.*s%s\n%.*s = %s\n", static_cast<int>(setting.help.size()),
                    setting.help.data(), setting.restart ? " (a change needs a restart)" : "",
                    static_cast<int>(name.size()), name.data(),
                    server::to_toml(configuration, setting).c_str());
    }
    std::printf("%s", server::to_toml(configuration.jwt).c_str());
    return done;
}

}  // namespace

void add_serve(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand("serve", "Run the service");
    auto const flags = std::make_shared<setting_flags>();
    flags->add_to(*command);
    auto const takes_over = std::make_shared<bool>(false);
    command->add_flag("--take-over", *takes_over,
                      "replace the service that runs with this data directory: it hands its "
                      "listening sockets over, answers what it has begun and ends; no request is "
                      "lost");
    command->footer(
        "Serves until SIGTERM or SIGINT, then finishes open requests and stops. SIGHUP reads the\n"
        "configuration file and the certificate again and reopens the access log; if anything is\n"
        "wrong, everything stays as it was. Flags take precedence over the file; defaults are in\n"
        "brackets. latchkey config show prints the resulting configuration.\n"
        "Example: latchkey serve --listen https://127.0.0.1:8443 --data /var/lib/latchkey");
    command->callback([flags, takes_over, &code] {
        auto const settings = flags->resolve(code);
        if (!settings) {
            report(settings.error(), code);
            return;
        }
        if (auto const files_valid = server::check_files(*settings); !files_valid) {
            code = report(files_valid.error(), configuration_error);
            return;
        }
        auto const reader = [flags] {
            int ignored = done;
            return flags->resolve(ignored);
        };
        auto const outcome = server::serve_until_stopped(*settings, reader, *takes_over);
        if (!outcome) code = report(outcome.error(), failed);
    });
}

void add_config(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand("config", "Print the configuration");
    command->require_subcommand(1);
    auto* const show_command =
        command->add_subcommand("show", "Print every setting with its value, as a TOML file");
    auto const flags = std::make_shared<setting_flags>();
    flags->add_to(*show_command);
    show_command->footer(
        "Use the output as a file for --config.\n"
        "Example: latchkey config show --workers 2 > latchkey.toml");
    show_command->callback([flags, &code] {
        auto const settings = flags->resolve(code);
        settings ? show(*settings) : report(settings.error(), code);
    });
}

}  // namespace latchkey::cli
