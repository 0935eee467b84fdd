// latchkey check: is the configuration right, and is the store whole?
#include <unistd.h>

#include <cstdio>

#include "api/json_writer.hpp"
#include "base/log.hpp"
#include "cli/keys.hpp"
#include "server/service.hpp"
#include "store/inspect.hpp"

namespace latchkey::cli {
namespace {

struct check_options {
    setting_flags settings;
    bool json = false, configuration_only = false;
};

void append_list(std::string& to, std::vector<std::string> const& sentences) {
    to.append("[");
    for (auto const& each : sentences) {
        if (&each != sentences.data()) to.append(",");
        api::append_string(to, each);
    }
    to.append("]");
}

// {"configuration":{"valid":…,"wrong":[…]},"store":null | {"valid":…,"users":…,"wrong":[…]}}
void print_document(std::vector<std::string> const& configuration,
                    std::optional<store::inspected> const& seen) {
    std::string document = "{\"configuration\":{\"valid\":";
    document.append(configuration.empty() ? "true" : "false").append(",\"wrong\":");
    append_list(document, configuration);
    document.append("},\"store\":");
    if (seen) {
        document.append("{\"valid\":").append(seen->wrong.empty() ? "true" : "false");
        for (auto const& [name, number] :
             {std::pair("users", seen->users), std::pair("posts", seen->posts),
              std::pair("keys", seen->keys), std::pair("audit_entries", seen->audit_entries)}) {
            document.append(",\"").append(name).append("\":");
            api::append_number(document, number);
        }
        document.append(",\"wrong\":");
        append_list(document, seen->wrong);
        document.append("}");
    } else {
        document.append("null");
    }
    std::printf("%s}\n", document.c_str());
}

int wrong_settings(check_options const& options, std::string const& sentence, int code) {
    base::say(base::severity::failure, sentence);
    if (options.json) print_document({sentence}, std::nullopt);
    return code;
}

int check(check_options const& options) {
    int code = done;
    auto const settings = options.settings.resolve(code);
    if (!settings) return wrong_settings(options, settings.error().message, code);
    if (auto const usable = server::check_files(*settings); !usable)
        return wrong_settings(options, usable.error().message, wrong_configuration);
    if (!options.json) base::say("the configuration is right");
    std::optional<store::inspected> seen;
    bool const there = ::access((settings->data + "/store.mdb").c_str(), F_OK) == 0;
    if (there && !options.configuration_only) {
        auto looked = store::inspect(settings->data);
        seen = looked ? std::move(*looked) : store::inspected{.wrong = {looked.error().message}};
        for (auto const& sentence : seen->wrong) base::say(base::severity::failure, sentence);
    }
    if (options.json) {
        print_document({}, seen);
    } else if (!there) {
        base::say("there is no store in " + settings->data + " yet");
    } else if (seen && seen->wrong.empty()) {
        base::say("the store is whole: " + std::to_string(seen->users) + " users, " +
                  std::to_string(seen->posts) + " posts, " + std::to_string(seen->keys) +
                  " keys, " + std::to_string(seen->audit_entries) + " entries of the audit log");
    }
    return seen && !seen->wrong.empty() ? failed : done;
}

}  // namespace

void add_check(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("check", "Check a configuration and every record of the store");
    auto const options = std::make_shared<check_options>();
    options->settings.add_to(*command);
    command->add_flag("--json", options->json, "Print one JSON document");
    command->add_flag("--configuration-only", options->configuration_only,
                      "Do not look at the store");
    command->footer(
        "Exit codes: 0 all is well, 1 the store is not whole, 78 the configuration is wrong.\n"
        "Works beside a running service; a large store takes a while, in which its file may grow.\n"
        "Example: latchkey check --config /etc/latchkey.toml");
    command->callback([options, &code] { code = check(*options); });
}

}  // namespace latchkey::cli
