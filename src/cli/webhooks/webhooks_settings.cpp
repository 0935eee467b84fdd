// webhooks create, webhooks update. The options are the members of the API's body, and are checked
// as those are.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "api/frame/json/json_writer.hpp"
#include "api/webhooks/webhook_body.hpp"
#include "auth/webhook_signature.hpp"
#include "base/bytes.hpp"
#include "cli/frame/standard_input.hpp"
#include "cli/frame/whole_number.hpp"
#include "cli/webhooks/webhooks.hpp"

namespace latchkey::cli {
namespace {

constexpr std::size_t headers_file_bytes_max = 64 * 1024;

struct settings_options : webhook_command {
    std::string url, description, headers_file;
    std::vector<std::string> types, signatures;
    bool ordered = false;
    std::uint32_t max_per_second = 0;
    // The options, to see which were given; null: the command has no such option.
    CLI::Option* url_option = nullptr;
    CLI::Option* description_option = nullptr;
    CLI::Option* ordered_option = nullptr;
    CLI::Option* rate_option = nullptr;
};

bool is_given(CLI::Option const* option) {
    return option != nullptr && option->count() != 0;
}

std::string_view header_text(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && std::string_view(" \t\r").find(text.back()) != text.npos)
        text.remove_suffix(1);
    return text;
}

// Appends the lines `Name: value` as an object; a name without a value is null, which removes it.
base::result<void> append_headers(std::string& output, std::string_view lines) {
    output.push_back('{');
    for (bool first = true; !lines.empty();) {
        auto const end = std::min(lines.find('\n'), lines.size());
        auto const line = header_text(lines.substr(0, end));
        lines.remove_prefix(std::min(end + 1, lines.size()));
        if (line.empty()) continue;
        auto const colon = line.find(':');
        if (colon == line.npos)
            return base::error{"each line of the file with header fields must be 'Name: value'"};
        if (!std::exchange(first, false)) output.push_back(',');
        api::append_string(output, line.substr(0, colon));
        output.push_back(':');
        api::append_string_or_null(output, header_text(line.substr(colon + 1)));
    }
    output.push_back('}');
    return {};
}

base::result<void> append_headers_of(std::string& output, std::string const& path) {
    if (path == "-")
        if (auto const claim = claim_standard_input("the header fields"); !claim)
            return claim.error();
    std::ifstream file;
    if (path != "-") file.open(path, std::ios::binary);
    auto& input = path == "-" ? std::cin : file;
    std::string lines(headers_file_bytes_max + 1, '\0');
    if (input) input.read(lines.data(), static_cast<std::streamsize>(lines.size()));
    auto const size = static_cast<std::size_t>(input.gcount());
    base::result<void> result = base::error{"the header fields cannot be read from " + path};
    if (size == lines.size())
        result = base::error{"the file with header fields has more than 64 KiB"};
    else if (!input.bad() && (path == "-" || file.is_open()))
        result = append_headers(output, std::string_view(lines).substr(0, size));
    base::wipe(lines.data(), lines.size());
    return result;
}

bool changes_anything(settings_options const& options) {
    return is_given(options.url_option) || is_given(options.description_option) ||
           is_given(options.ordered_option) || is_given(options.rate_option) ||
           !options.types.empty() || !options.signatures.empty() || !options.headers_file.empty();
}

// The body that the options stand for.
base::result<void> describe(settings_options const& options, json_members& body) {
    if (is_given(options.url_option)) body.text("url", options.url);
    if (!options.types.empty()) body.texts("types", options.types);
    if (is_given(options.description_option)) body.text("description", options.description);
    if (is_given(options.ordered_option))
        body.name("ordered").append(options.ordered ? "true" : "false");
    if (is_given(options.rate_option))
        api::append_id_or_null(body.name("max_per_second"), options.max_per_second);
    if (!options.signatures.empty()) body.texts("signatures", options.signatures);
    if (options.headers_file.empty()) return {};
    return append_headers_of(body.name("headers"), options.headers_file);
}

// Reads the body by `read`, as a request's, and applies what it says after `complete`.
template <class Read, class Complete>
answer_of<std::string> apply_here(settings_options const& options, std::string_view body,
                                  store_access access, Read read, Complete complete) {
    int code = done;
    auto const configuration = options.settings.resolve(code);
    if (!configuration) return refusal{{}, code};
    std::vector<model::cidr> allowed;
    for (auto const& text : configuration->webhooks_allow_private)
        allowed.push_back(*model::cidr::parse(text));
    http::request request;
    request.body = body;
    std::vector<base::fault> faults;
    auto action = read(request, allowed, faults);
    if (!action) return refusal{error_text(action.error()), usage_error};
    if (!faults.empty()) return refusal{fault_text(faults), usage_error};
    complete(*action);
    auto const store = open_store(options, code, access);
    if (store == nullptr) return refusal{{}, code};
    auto const outcome = apply_one(*store, std::move(*action));
    if (!outcome) return outcome.error();
    return webhook_document(*outcome);
}

// `apply` takes the body.
template <class Apply>
int run(settings_options const& options, Apply apply) {
    json_members body;
    if (auto const described = describe(options, body); !described)
        return report_usage_error(described.error().message);
    auto const document = apply(body.end());
    if (!document) return report(document.error());
    print_webhook(*document, options.json);
    return done;
}

int create(settings_options const& options) {
    return run(options, [&](std::string_view body) {
        if (options.is_remote()) return options.ask("POST", "/webhooks", body);
        return apply_here(options, body, store_access::makes, api::read_new_webhook,
                          [](domain::create_webhook& action) {
                              action.secret = auth::make_webhook_secret();
                              action.record.public_key = auth::public_key_of(action.secret);
                          });
    });
}

// --url was once the URL that the webhook posts to. Now it names the service to ask, for which a
// key and something to change belong to it.
bool is_old_form(settings_options const& options) {
    if (options.elsewhere.url.empty()) return false;
    return options.settings.is_any_given() || !options.elsewhere.has_key_file() ||
           !changes_anything(options);
}

int update(settings_options const& options) {
    if (is_old_form(options))
        return report_usage_error(
            "--url is the service to ask (with --key-file); the URL that the webhook posts to is "
            "--new-url: latchkey webhooks update " +
            std::to_string(options.id) + " --new-url " + options.elsewhere.url);
    if (!changes_anything(options))
        return report_usage_error("say what to change: latchkey webhooks update --help lists it");
    return run(options, [&](std::string_view body) {
        if (options.is_remote()) return options.ask("PATCH", webhook_path(options.id), body);
        return apply_here(options, body, store_access::writes, api::read_webhook_change,
                          [&](domain::change_webhook& action) { action.id = options.id; });
    });
}

void add_options(CLI::App& command, settings_options& options) {
    options.add_to(command, {"webhooks.allow_private"});
    command
        .add_option("--type", options.types,
                    "A type of changes that it gets, such as user.created or user.*; repeat for "
                    "more (of a new one, unless given: all)")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    options.description_option =
        command.add_option("--description", options.description, "What it is for");
    options.ordered_option = command.add_flag(
        "--ordered,!--unordered", options.ordered,
        "One change after the other, in their order; else several at a time (unless given)");
    options.rate_option =
        take_number(command.add_option("--max-per-second", options.max_per_second,
                                       "The most requests in a second; 0: no limit"),
                    0, model::webhook_rate_max);
    command
        .add_option("--signature", options.signatures,
                    "v1 (HMAC-SHA-256) or v1a (Ed25519); repeat for both (of a new one, unless "
                    "given: v1)")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command
        .add_option("--headers-file", options.headers_file,
                    "File with header fields that are sent along, a line 'Name: value' for each; - "
                    "is standard input")
        ->type_name("FILE");
}

}  // namespace

void add_webhooks_settings(CLI::App& webhooks, int& code) {
    auto* const create_command =
        webhooks.add_subcommand("create", "Create a webhook and show its secret once");
    auto const create_options = std::make_shared<settings_options>();
    create_options->url_option =
        create_command->add_option("URL", create_options->url, "The https URL to post to");
    create_options->url_option->required();
    add_options(*create_command, *create_options);
    create_command->footer(
        "The webhook gets the changes after its creation, as latchkey changes --json shows them.\n"
        "Give the secret to the receiver now: with it the receiver verifies each request "
        "(Standard\n"
        "Webhooks), and it cannot be shown again. To replace it: latchkey webhooks rotate-secret.\n"
        "Header fields come from a file, since every process can see the arguments of a command.\n"
        "Example: latchkey webhooks create https://hooks.example.com/in --type 'user.*'");
    create_command->callback([create_options, &code] { code = create(*create_options); });

    auto* const update_command =
        webhooks.add_subcommand("update", "Change what a webhook gets, and where");
    auto const update_options = std::make_shared<settings_options>();
    update_options->add_id(*update_command);
    update_options->url_option =
        update_command->add_option("--new-url", update_options->url, "The https URL to post to");
    add_options(*update_command, *update_options);
    // Refused by is_old_form(), whose sentence says more.
    auto* const service = update_command->get_option("--url");
    for (auto const* const name : {"--data", "--config"}) {
        service->remove_excludes(update_command->get_option(name));
        update_command->get_option(name)->remove_excludes(service);
    }
    update_command->footer(
        "The URL that the webhook posts to is --new-url (--url names the service to ask).\n"
        "Only what is given changes. In the file with header fields a name without a value "
        "removes\n"
        "the field; others keep their values.\n"
        "Example: latchkey webhooks update 3 --type 'user.*' --type 'key.*' --max-per-second 50");
    update_command->callback([update_options, &code] { code = update(*update_options); });
}

}  // namespace latchkey::cli
