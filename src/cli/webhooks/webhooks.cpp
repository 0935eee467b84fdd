#include "cli/webhooks/webhooks.hpp"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <cstdio>

#include "api/webhooks/webhook_json.hpp"
#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/standard_output.hpp"
#include "cli/frame/whole_number.hpp"

namespace latchkey::cli {

void webhook_command::add_id(CLI::App& command) {
    take_number(command.add_option("ID", id, "The webhook's id"), 1, base::limits::id_max)
        ->required();
}

std::string webhook_document(domain::outcome const& outcome) {
    auto const& result = std::get<domain::webhook_outcome>(outcome.record);
    std::string document;
    api::append_webhook(document, result.entry, outcome.time,
                        result.secret.empty() ? nullptr : &result.secret);
    return document;
}

std::string webhook_path(model::id id, std::string_view action) {
    return ("/webhooks/" + std::to_string(id)).append(action);
}

namespace {

// The message about a webhook that was made or changed, where its document cannot be written.
std::string outcome_of(json_object const& webhook) {
    auto const id = text_of(webhook, "id");
    auto const text =
        "webhook " + id + " was made or changed: latchkey webhooks show " + id + " shows it";
    if (text_of(webhook, "secret").empty()) return text;
    return text + ". Nobody has its secret: latchkey webhooks rotate-secret " + id +
           " --overlap 0s makes another, latchkey webhooks delete " + id + " removes it";
}

}  // namespace

void print_webhook(std::string document, bool json) {
    auto const webhook = parse_object(document).value();
    note_outcome(outcome_of(webhook));
    if (json) {
        std::printf("%s\n", document.c_str());
        base::wipe(document.data(), document.size());
        return;
    }
    base::wipe(document.data(), document.size());
    base::log("webhook " + text_of(webhook, "id") +
              (is_true(webhook, "enabled") ? "" : ", disabled") + ": " +
              words_of(webhook, "types") + " to " + text_of(webhook, "url"));
    auto secret = text_of(webhook, "secret");
    if (secret.empty()) return;
    if (auto const key = text_of(webhook, "public_key"); !key.empty())
        base::log("its public key is " + key);
    base::log("this is the only time its secret is shown:");
    std::printf("%s\n", secret.c_str());
    base::wipe(secret.data(), secret.size());
}

void add_webhooks(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand(
        "webhooks", "Create, change and watch webhooks, to which a running service sends changes");
    command->require_subcommand(1);
    add_webhooks_settings(*command, code);
    add_webhooks_list(*command, code);
    add_webhooks_state(*command, code);
    add_webhooks_send(*command, code);
}

}  // namespace latchkey::cli
