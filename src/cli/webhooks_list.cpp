// webhooks list, webhooks show, webhooks deliveries.
#include <cstdio>

#include "api/handlers.hpp"
#include "api/resources/webhook_json.hpp"
#include "auth/webhook_signature.hpp"
#include "base/limits.hpp"
#include "cli/print.hpp"
#include "cli/webhooks.hpp"
#include "store/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct deliveries_options : webhook_command {
    std::string state;
    model::id bound = 0;
    std::uint32_t limit = base::limits::page_limit_default;
};

std::string joined(std::vector<std::string> const& words) {
    std::string text;
    for (auto const& each : words) text += (text.empty() ? "" : " ") + each;
    return text;
}

std::string state_of(model::webhook const& webhook) {
    if (webhook.is_enabled()) return "enabled";
    return "disabled (" + std::string(model::name_of(webhook.end)) + ")";
}

std::string missing(model::id webhook) {
    return "there is no webhook " + std::to_string(webhook) + ": latchkey webhooks list shows all";
}

std::vector<std::string> row_of(store::webhook_entry const& entry) {
    auto const& webhook = entry.webhook;
    return {std::to_string(webhook.id),
            webhook.url,
            joined(webhook.types),
            state_of(webhook),
            std::to_string(entry.progress.position),
            format_time(entry.progress.failing_since, "-"),
            webhook.project.empty() ? "(all)" : webhook.project};
}

int list(store_command const& options) {
    int code = done;
    auto const store = open_store(options, code, store_access::reads);
    if (store == nullptr) return code;
    std::vector<std::string> records;
    std::vector<std::vector<std::string>> rows{
        {"ID", "URL", "TYPES", "STATE", "POSITION", "FAILING SINCE", "PROJECT"}};
    {
        store::snapshot snapshot(*store);
        snapshot.renew();
        auto const now = snapshot.time();
        snapshot.webhooks(std::nullopt, {.limit = UINT32_MAX},
                          [&](store::webhook_entry const& entry) {
                              if (!options.json) return rows.push_back(row_of(entry));
                              api::append_webhook(records.emplace_back(), entry, now);
                          });
        if (snapshot.damaged()) return report_damage();
    }
    // Printed after the snapshot is released: a slow terminal must not keep old pages in use.
    options.json ? print_page(records) : print_table(rows);
    return done;
}

void print_record(store::webhook_entry const& entry, base::wall_ms now) {
    auto const& webhook = entry.webhook;
    std::vector<std::vector<std::string>> rows;
    auto const row = row_of(entry);
    for (std::size_t i = 0; auto const* const name :
                            {"id", "url", "types", "state", "position", "failing since", "project"})
        rows.push_back({name, row[i++]});
    rows.push_back({"description", webhook.description.empty() ? "-" : webhook.description});
    rows.push_back({"ordered", webhook.ordered ? "yes" : "no"});
    auto const rate = webhook.max_per_second;
    rows.push_back({"max per second", rate == 0 ? "-" : std::to_string(rate)});
    for (auto const& header : webhook.headers) rows.push_back({"header " + header.first, "***"});
    rows.push_back({"signatures", std::string(webhook.signs_v1 ? "v1" : "") +
                                      (webhook.signs_v1 && webhook.signs_v1a ? " " : "") +
                                      (webhook.signs_v1a ? "v1a" : "")});
    if (webhook.signs_v1a)
        rows.push_back({"public key", auth::public_key_text(webhook.public_key)});
    bool const rotates = webhook.rotation_ends_at > now;
    rows.push_back({"rotation ends", format_time(rotates ? webhook.rotation_ends_at : 0, "-")});
    rows.push_back({"disabled", format_time(webhook.disabled_at, "-")});
    rows.push_back({"created", format_time(webhook.created_at, "-")});
    rows.push_back({"created by", webhook.created_by == 0
                                      ? "the command line"
                                      : "key " + std::to_string(webhook.created_by)});
    rows.push_back({"changed", format_time(webhook.updated_at, "-")});
    print_table(rows);
}

int show(webhook_command const& options) {
    int code = done;
    auto const store = open_store(options, code, store_access::reads);
    if (store == nullptr) return code;
    store::snapshot snapshot(*store);
    snapshot.renew();
    auto const entry = snapshot.webhook(options.id);
    if (snapshot.damaged()) return report_damage();
    if (!entry) return report_failure(missing(options.id));
    auto const now = snapshot.time();
    snapshot.reset();
    if (!options.json) {
        print_record(*entry, now);
        return done;
    }
    std::string document;
    api::append_webhook(document, *entry, now);
    std::printf("%s\n", document.c_str());
    return done;
}

std::vector<std::string> row_of(model::delivery const& delivery) {
    bool const is_pending = delivery.state == model::delivery_state::pending;
    std::string last = "-";
    if (!delivery.attempts.empty()) {
        auto const& attempt = delivery.attempts.back();
        last = attempt.status == 0 ? attempt.error : std::to_string(attempt.status);
    }
    return {std::to_string(delivery.sequence),
            std::string(model::name_of(delivery.type)),
            std::string(model::name_of(delivery.state)),
            std::to_string(delivery.attempts.size()),
            format_time(delivery.attempts.empty() ? 0 : delivery.attempts.back().time, "-"),
            last,
            format_time(is_pending ? delivery.next_attempt_at : 0, "-")};
}

void print_deliveries(std::vector<std::string> const& records, store::delivery_page const& page) {
    std::string document = "{\"data\":[";
    for (auto const& each : records)
        document.append(&each == records.data() ? "" : ",").append(each);
    auto const next = page.has_more ? std::to_string(page.next_before) : "null";
    document += "],\"pagination\":{\"next_before\":" + next +
                ",\"has_more\":" + (page.has_more ? "true}}" : "false}}");
    std::printf("%s\n", document.c_str());
}

int deliveries(deliveries_options const& options) {
    store::delivery_range range{.bound = options.bound, .limit = options.limit};
    if (!options.state.empty() && !(range.state = model::find_delivery_state(options.state)))
        return report_usage_error("--state must be pending, delivered or failed");
    int code = done;
    auto const store = open_store(options, code, store_access::reads);
    if (store == nullptr) return code;
    std::vector<std::string> records;
    std::vector<std::vector<std::string>> rows{
        {"SEQUENCE", "TYPE", "STATE", "ATTEMPTS", "LAST ATTEMPT", "ANSWER", "NEXT ATTEMPT"}};
    store::snapshot snapshot(*store);
    snapshot.renew();
    if (!snapshot.webhook(options.id) && !snapshot.damaged())
        return report_failure(missing(options.id));
    auto const each = [&](model::delivery const& delivery) {
        if (!options.json) return rows.push_back(row_of(delivery));
        api::append_delivery(records.emplace_back(), delivery,
                             api::message_id_of(snapshot, delivery.sequence));
    };
    auto const page = snapshot.deliveries(options.id, range, each);
    if (snapshot.damaged()) return report_damage();
    snapshot.reset();
    options.json ? print_deliveries(records, page) : print_table(rows);
    return done;
}

void add_deliveries(CLI::App& webhooks, int& code) {
    auto* const command =
        webhooks.add_subcommand("deliveries", "Show what became of the changes sent to a webhook");
    auto const options = std::make_shared<deliveries_options>();
    options->add_id(*command);
    options->add_to(*command);
    command->add_option("--state", options->state, "Only pending, delivered or failed ones");
    command->add_option("--before", options->bound, "Only changes below this sequence")
        ->check(CLI::Range(model::id{1}, base::limits::id_max));
    command->add_option("--limit", options->limit, "The most deliveries, 1 to 100")
        ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{base::limits::page_limit_max}))
        ->capture_default_str();
    command->footer(
        "The newest first, each with the answer to its last attempt; --json shows all attempts.\n"
        "To send changes again: latchkey webhooks replay.\n"
        "Example: latchkey webhooks deliveries 3 --state failed");
    command->callback([options, &code] { code = deliveries(*options); });
}

}  // namespace

void add_webhooks_list(CLI::App& webhooks, int& code) {
    auto* const list_command =
        webhooks.add_subcommand("list", "Show all webhooks, without their secrets");
    auto const list_options = std::make_shared<store_command>();
    list_options->add_to(*list_command);
    list_command->footer("Example: latchkey webhooks list --json | jq '.data[].url'");
    list_command->callback([list_options, &code] { code = list(*list_options); });

    auto* const show_command =
        webhooks.add_subcommand("show", "Show one webhook, without its secret");
    auto const show_options = std::make_shared<webhook_command>();
    show_options->add_id(*show_command);
    show_options->add_to(*show_command);
    show_command->footer("Example: latchkey webhooks show 3");
    show_command->callback([show_options, &code] { code = show(*show_options); });
    add_deliveries(webhooks, code);
}

}  // namespace latchkey::cli
