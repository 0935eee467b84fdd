#include "cli/webhooks.hpp"

#include <cstdio>

#include "api/json/json_writer.hpp"
#include "api/resources/webhook_json.hpp"
#include "auth/webhook_signature.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"

namespace latchkey::cli {

void webhook_command::add_id(CLI::App& command) {
    command.add_option("ID", id, "The webhook's id")
        ->required()
        ->check(CLI::Range(model::id{1}, base::limits::id_max));
}

void print_webhook(store::outcome const& outcome, bool json) {
    auto const& result = std::get<store::webhook_outcome>(outcome.record);
    auto const& webhook = result.entry.webhook;
    bool const has_secret = !result.secret.empty();
    if (json) {
        std::string document;
        api::append_webhook(document, result.entry, outcome.time,
                            has_secret ? &result.secret : nullptr);
        std::printf("%s\n", document.c_str());
        base::wipe(document.data(), document.size());
        return;
    }
    std::string types;
    for (auto const& each : webhook.types) types += (types.empty() ? "" : " ") + each;
    base::log("webhook " + std::to_string(webhook.id) + (webhook.is_enabled() ? "" : ", disabled") +
              ": " + types + " to " + webhook.url);
    if (!has_secret) return;
    if (webhook.signs_v1a)
        base::log("its public key is " + auth::public_key_text(webhook.public_key));
    base::log("this is the only time its secret is shown:");
    auto const secret = auth::secret_text(result.secret);
    std::printf("%.*s\n", static_cast<int>(secret.text().size()), secret.text().data());
}

int report_faults(std::vector<base::fault> const& faults) {
    std::string message;
    for (auto const& each : faults)
        message += (message.empty() ? "" : "; ") + each.location.substr(1) + " " + each.detail;
    return report_usage_error(message);
}

json_members::~json_members() {
    base::wipe(text_.data(), text_.size());
}

std::string& json_members::name(std::string_view name) {
    if (text_.size() > 1) text_.push_back(',');
    text_.append(1, '"').append(name).append("\":");
    return text_;
}

void json_members::text(std::string_view member, std::string_view value) {
    api::append_string(name(member), value);
}

void json_members::texts(std::string_view member, std::vector<std::string> const& values) {
    auto& output = name(member);
    api::append_array(output, values,
                      [&](std::string const& each) { api::append_string(output, each); });
}

std::string_view json_members::end() {
    text_.push_back('}');
    return text_;
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
