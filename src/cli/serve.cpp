#include <cstdio>
#include <memory>

#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/settings.hpp"
#include "server/service.hpp"

namespace latchkey::cli {
namespace {

int report(base::error const& failure, int code) {
    base::say(base::severity::failure, failure.message);
    return code;
}

int show(server::config const& of) {
    std::string section;
    for (auto const& which : server::settings()) {
        auto const dot = which.name.find('.');
        auto const in =
            dot == which.name.npos ? std::string() : std::string(which.name.substr(0, dot));
        if (in != section) std::printf("\n[%s]\n", in.c_str());
        section = in;
        auto const name = dot == which.name.npos ? which.name : which.name.substr(dot + 1);
        std::printf("# %.*s%s\n%.*s = %s\n", static_cast<int>(which.help.size()), which.help.data(),
                    which.restart ? " (changing it takes a restart)" : "",
                    static_cast<int>(name.size()), name.data(), server::shown(of, which).c_str());
    }
    return done;
}

}  // namespace

void add_serve(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand("serve", "Run the service");
    auto const flags = std::make_shared<setting_flags>();
    flags->add_to(*command);
    command->footer(
        "SIGTERM and SIGINT stop in order. SIGHUP reads the file and the certificate anew, over "
        "which\nthe flags still win, and reopens the access log; when anything is wrong, all stays "
        "as it was.\n"
        "Defaults are in brackets; latchkey config show prints what a file and flags come to.\n"
        "Example: latchkey serve --listen https://127.0.0.1:8443 --data /var/lib/latchkey");
    command->callback([flags, &code] {
        auto const settings = flags->resolve(code);
        if (!settings) return void(report(settings.error(), code));
        if (auto const usable = server::check_files(*settings); !usable)
            return void(code = report(usable.error(), wrong_configuration));
        auto const served = server::serve_until_stopped(*settings, [flags] {
            int ignored = done;
            return flags->resolve(ignored);
        });
        if (!served) code = report(served.error(), failed);
    });
}

void add_config(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand("config", "Look at the configuration");
    command->require_subcommand(1);
    auto* const shown =
        command->add_subcommand("show", "Print every setting with its value, as a TOML file");
    auto const flags = std::make_shared<setting_flags>();
    flags->add_to(*shown);
    shown->footer("Example: latchkey config show --workers 2 > latchkey.toml");
    shown->callback([flags, &code] {
        auto const settings = flags->resolve(code);
        settings ? show(*settings) : report(settings.error(), code);
    });
}

}  // namespace latchkey::cli
