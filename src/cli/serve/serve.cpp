// `serve` resolves the settings, checks the files that they name and runs the service, which gets a
// function to resolve them again at SIGHUP. `config show` walks the table of settings once for each
// table of TOML. State of a command lives in shared pointers, since CLI11 calls back later.
#include "cli/serve/serve.hpp"

#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>
#include <utility>

#include "api/frame/json/json_writer.hpp"
#include "base/system/log.hpp"
#include "base/system/write_now.hpp"
#include "cli/frame/serve_settings.hpp"
#include "server/service.hpp"

namespace latchkey::cli {
namespace {

int report(base::error const& failure, int code) {
    base::log(base::severity::failure, failure.message);
    return code;
}

void warn_of_variables() {
    for (auto const& sentence : unknown_variables()) base::log(base::severity::warning, sentence);
}

std::string_view table_of(server::setting const& setting) {
    auto const dot = setting.name.find('.');
    return dot == setting.name.npos ? std::string_view() : setting.name.substr(0, dot);
}

// The tables of the file, each once, in the order of their first settings. The first has no name.
std::vector<std::string_view> tables() {
    std::vector<std::string_view> names;
    for (auto const& setting : server::setting_table())
        if (std::ranges::find(names, table_of(setting)) == names.end())
            names.push_back(table_of(setting));
    return names;
}

void print_toml(server::config const& configuration) {
    for (auto const table : tables()) {
        if (!table.empty()) std::printf("\n[%.*s]\n", static_cast<int>(table.size()), table.data());
        for (auto const& setting : server::setting_table()) {
            if (table_of(setting) != table) continue;
            auto const name = setting.name.substr(table.empty() ? 0 : table.size() + 1);
            std::printf("# %.*s%s\n%.*s = %s\n", static_cast<int>(setting.help.size()),
                        setting.help.data(), setting.restart ? " (a change needs a restart)" : "",
                        static_cast<int>(name.size()), name.data(),
                        server::to_toml(configuration, setting).c_str());
        }
    }
    std::printf("%s", server::to_toml(configuration.jwt).c_str());
}

void append_value(std::string& output, server::config const& configuration,
                  server::setting const& setting) {
    using server::config;
    if (auto const* const text = std::get_if<std::string config::*>(&setting.member))
        api::append_string(output, configuration.**text);
    else if (auto const* const flag = std::get_if<bool config::*>(&setting.member))
        output.append(configuration.**flag ? "true" : "false");
    else if (auto const* const number = std::get_if<std::uint64_t config::*>(&setting.member))
        api::append_number(output, configuration.**number);
    else if (std::holds_alternative<double config::*>(setting.member))
        output.append(server::to_toml(configuration, setting));  // the same in JSON
    else if (auto const* const numbers =
                 std::get_if<std::vector<std::uint64_t> config::*>(&setting.member))
        api::append_array(output, configuration.**numbers,
                          [&](std::uint64_t each) { api::append_number(output, each); });
    else
        api::append_array(
            output, configuration.*std::get<std::vector<std::string> config::*>(setting.member),
            [&](std::string const& each) { api::append_string(output, each); });
}

// The tables [[jwt]], of which the file may have many: `,"jwt":[…]`, or nothing.
std::string issuers_of(server::config const& configuration) {
    auto const table = toml::parse(server::to_toml(configuration.jwt));
    if (table.empty()) return {};
    std::ostringstream text;
    text << toml::json_formatter(table);
    auto const document = text.str();
    auto const begin = document.find('{') + 1;
    return "," + document.substr(begin, document.rfind('}') - begin);
}

// An object for each table of the file.
void print_json(server::config const& configuration) {
    std::string document = "{";
    for (auto const table : tables()) {
        if (document.size() > 1) document.push_back(',');
        if (!table.empty()) document.append("\"").append(table).append("\":{");
        for (bool is_first = true; auto const& setting : server::setting_table()) {
            if (table_of(setting) != table) continue;
            if (!std::exchange(is_first, false)) document.push_back(',');
            auto const name = setting.name.substr(table.empty() ? 0 : table.size() + 1);
            document.append("\"").append(name).append("\":");
            append_value(document, configuration, setting);
        }
        if (!table.empty()) document.push_back('}');
    }
    document.append(issuers_of(configuration));
    std::printf("%s}\n", document.c_str());
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
        "wrong, everything stays as it was. Flags take precedence over variables of\n"
        "the environment (LATCHKEY_STORE_MAP_MIB for --store-map-mib), these over the file;\n"
        "defaults are in brackets. latchkey config show prints the resulting configuration.\n"
        "Example: latchkey serve --listen https://127.0.0.1:8443 --data /var/lib/latchkey");
    command->callback([flags, takes_over, &code] {
        base::set_log_style(base::log_style_of_environment());
        base::drop_unread_messages();
        auto const settings = flags->examine(true);
        code = settings.code;
        if (code == done) base::set_log_style(server::log_style_of(settings.values));
        warn_of_variables();
        for (auto const& each : settings.faults)
            base::log(base::severity::failure, sentence_of(each));
        if (code != done) return;
        auto const reader = [flags]() -> base::result<server::config> {
            auto next = flags->examine(false);
            if (!next.faults.empty()) return base::error{sentence_of(next.faults)};
            return std::move(next.values);
        };
        auto const outcome = server::serve_until_stopped(settings.values, reader, *takes_over);
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
    auto const is_json = std::make_shared<bool>(false);
    show_command->add_flag("--json", *is_json, "Print one JSON document instead of a TOML file");
    show_command->footer(
        "Use the output without --json as a file for --config.\n"
        "Example: latchkey config show --workers 2 > latchkey.toml");
    show_command->callback([flags, is_json, &code] {
        auto const settings = flags->resolve(code);
        if (!settings) return;
        warn_of_variables();
        *is_json ? print_json(*settings) : print_toml(*settings);
    });
}

}  // namespace latchkey::cli
