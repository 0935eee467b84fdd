// webhooks delete, enable, disable, rotate-secret.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "auth/webhook_signature.hpp"
#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "cli/frame/standard_output.hpp"
#include "cli/webhooks/webhooks.hpp"

namespace latchkey::cli {
namespace {

struct webhook_state_options : webhook_command {
    std::string overlap = "24h";
};

int apply_change(webhook_state_options const& options, domain::command::any_action change) {
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    auto const outcome = apply_one(*store, std::move(change));
    if (!outcome) return report(outcome.error());
    print_webhook(webhook_document(*outcome), options.json);
    return done;
}

int ask(webhook_state_options const& options, std::string_view method, std::string_view action,
        std::string_view body = {}) {
    auto document = options.api_command::ask(method, webhook_path(options.id, action), body);
    if (!document) return report(document.error());
    print_webhook(std::move(*document), options.json);
    return done;
}

int enable(webhook_state_options const& options, bool enabled) {
    if (options.is_remote())
        return enabled ? ask(options, "POST", "/enable")
                       : ask(options, "PATCH", {}, R"({"enabled":false})");
    return apply_change(options,
                        domain::change_webhook{
                            .id = options.id, .headers = {}, .enabled = enabled, .expected = {}});
}

int rotate_secret(webhook_state_options const& options) {
    auto const overlap = base::parse_duration(options.overlap);
    if (!overlap || *overlap < 0 || *overlap > base::limits::overlap_seconds_max)
        return report_usage_error("--overlap must be 0 to 48h, such as 24h or 15m");
    if (options.is_remote())
        return ask(options, "POST", "/rotate-secret",
                   R"({"overlap_seconds":)" + std::to_string(*overlap) + "}");
    domain::rotate_webhook_secret rotation{
        .id = options.id, .secret = auth::make_webhook_secret(), .overlap_ms = *overlap * 1000};
    rotation.public_key = auth::public_key_of(rotation.secret);
    return apply_change(options, std::move(rotation));
}

int remove_here(webhook_state_options const& options) {
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    auto const outcome = apply_one(*store, domain::delete_webhook{options.id});
    return outcome ? done : report(outcome.error());
}

int remove_webhook(webhook_state_options const& options) {
    if (options.is_remote()) {
        auto const answer = options.api_command::ask("DELETE", webhook_path(options.id));
        if (!answer) return report(answer.error());
    } else if (int const code = remove_here(options); code != done) {
        return code;
    }
    auto const id = std::to_string(options.id);
    note_outcome("webhook " + id + " is gone");
    if (options.json)
        std::printf("{\"id\":%s,\"deleted\":true}\n", id.c_str());
    else
        base::log("webhook " + id + " is gone; what was not delivered is not");
    return done;
}

// Adds a command about one webhook that runs `run(options)`.
template <class Run>
std::pair<CLI::App*, std::shared_ptr<webhook_state_options>> add_change(CLI::App& webhooks,
                                                                        int& code, char const* name,
                                                                        char const* summary,
                                                                        char const* footer,
                                                                        Run run) {
    auto* const command = webhooks.add_subcommand(name, summary);
    auto const options = std::make_shared<webhook_state_options>();
    options->add_id(*command);
    options->add_to(*command);
    command->footer(footer);
    command->callback([options, run, &code] { code = run(*options); });
    return {command, options};
}

}  // namespace

void add_webhooks_state(CLI::App& webhooks, int& code) {
    add_change(webhooks, code, "delete", "Delete a webhook; what was not delivered is not",
               "To stop it for a while: latchkey webhooks disable.\n"
               "Example: latchkey webhooks delete 3",
               remove_webhook);
    add_change(webhooks, code, "enable", "Enable a webhook again",
               "It goes on where it stopped, as far as changes are kept.\n"
               "Example: latchkey webhooks enable 3",
               [](webhook_state_options const& options) { return enable(options, true); });
    add_change(
        webhooks, code, "disable", "Send nothing to a webhook until it is enabled again",
        "Changes are kept for changes.retention_days: enable it before that, and it gets them "
        "all.\n"
        "Example: latchkey webhooks disable 3",
        [](webhook_state_options const& options) { return enable(options, false); });
    auto const [command, options] = add_change(
        webhooks, code, "rotate-secret", "Replace the secret of a webhook and show it once",
        "Both secrets sign until the overlap ends: give the receiver the new one before that.\n"
        "Example: latchkey webhooks rotate-secret 3 --overlap 24h",
        rotate_secret);
    command->add_option("--overlap", options->overlap, "How long both secrets sign, 0 to 48h")
        ->capture_default_str();
}

}  // namespace latchkey::cli
