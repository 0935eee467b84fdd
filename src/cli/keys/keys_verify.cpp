// keys verify: is a key valid, and for what? The key comes from a file or standard input, never
// from the command line, which every process can see.
#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <cstdio>

#include "api/frame/json/json_writer.hpp"
#include "base/limits.hpp"
#include "cli/frame/body.hpp"
#include "cli/frame/key_text.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/scope_list.hpp"
#include "cli/frame/secret_file.hpp"
#include "cli/frame/whole_number.hpp"
#include "cli/keys/keys.hpp"
#include "cli/keys/keys_backend.hpp"

namespace latchkey::cli {
namespace {

struct verify_options : api_command {
    std::string file = "-", address, method, path;
    model::id id = 0;
    std::vector<std::string> scopes;
    std::uint32_t cost = 0;
};

void print_verdict(json_object const& verdict) {
    std::vector<std::vector<std::string>> rows{{"state", text_of(verdict, "code")}};
    auto const add = [&](char const* title, char const* member) {
        if (auto text = text_of(verdict, member); !text.empty()) rows.push_back({title, text});
    };
    add("refused by the check of", "check");
    add("missing scope", "missing_scope");
    add("seconds to wait", "retry_after_seconds");
    add("id", "key_id");
    add("project", "project");
    add("environment", "environment");
    if (!text_of(verdict, "key_id").empty()) {
        rows.push_back({"scopes", words_of(verdict, "scopes")});
        rows.push_back({"expires", time_of(verdict, "expires_at", "never")});
    }
    for (auto const* const limit : objects_of(verdict, "rate_limits")) {
        auto const text = limit_text(*limit);
        auto const space = text.find(' ');
        auto const left = text_of(*limit, "remaining");
        rows.push_back({"limit " + text.substr(0, space),
                        text.substr(space + 1) + (left.empty() ? "" : ", " + left + " left")});
    }
    auto const& metadata = object_of(verdict, "metadata");
    for (auto const& [name, value] : metadata)
        rows.push_back({"metadata " + std::string(name), text_of(metadata, name)});
    print_record(rows);
}

int verify(verify_options const& options) {
    json_members body;
    if (options.id != 0) {
        api::append_number(body.name("key_id"), options.id);
    } else {
        auto const key = read_secret(options.file, "the key to verify");
        if (!key) return report_usage_error(key.error().message);
        body.text("key", key->text());
    }
    if (!options.scopes.empty()) body.texts("scopes", options.scopes);
    if (!options.address.empty()) body.text("ip", options.address);
    if (!options.method.empty()) body.text("method", options.method);
    if (!options.path.empty()) body.text("path", options.path);
    api::append_number(body.name("cost"), options.cost);
    int code = done;
    auto const keys = open_keys(options, code, store_access::reads);
    if (keys == nullptr) return code;
    auto const document = keys->verify(body.end());
    if (!document) return report(document.error());
    auto const verdict = parse_object(*document).value();
    if (options.json)
        std::printf("%s\n", document->c_str());
    else
        print_verdict(verdict);
    return is_true(verdict, "valid") ? done : refused;
}

}  // namespace

void add_keys_verify(CLI::App& keys, int& code) {
    auto* const command = keys.add_subcommand("verify", "Verify a key: is it valid, and for what?");
    auto const options = std::make_shared<verify_options>();
    options->add_to(*command);
    auto* const file =
        command->add_option("FILE", options->file, "File with the key; - is standard input");
    file->capture_default_str();
    take_number(command->add_option("--id", options->id, "Verify the key with this id instead"), 1,
                base::limits::id_max)
        ->excludes(file);
    add_scopes(*command, options->scopes, "Scopes that it must have, with commas between them");
    command->add_option("--ip", options->address,
                        "Address of the client; a key with an allowlist is refused without it");
    command->add_option("--method", options->method, "With --path: of a request to the service");
    command->add_option("--path", options->path, "Path of that request, such as /api/v1/users");
    take_number(command->add_option("--cost", options->cost,
                                    "With --url: tokens of its rate limits to take, 0 to 1000"),
                0, 1000)
        ->capture_default_str();
    command->footer(
        "Exit codes: 0 the key is valid, 4 it would be refused, 1 it could not be verified.\n"
        "Beside the store the rate limits are not judged, since their state is known to the\n"
        "running service alone; with --url they are.\n"
        "Example: latchkey keys verify --scope users:read < key.txt");
    command->callback([options, &code] { code = verify(*options); });
}

}  // namespace latchkey::cli
