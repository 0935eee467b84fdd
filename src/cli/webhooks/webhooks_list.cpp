// webhooks list, webhooks show, webhooks deliveries.
#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <cstdio>

#include "api/webhooks/webhook_json.hpp"
#include "base/limits.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/whole_number.hpp"
#include "cli/webhooks/webhooks.hpp"
#include "domain/snapshot.hpp"
#include "domain/webhooks/webhook_lists.hpp"

namespace latchkey::cli {
namespace {

struct deliveries_options : webhook_command {
    std::string state;
    model::id bound = 0;
    std::uint32_t limit = base::limits::page_limit_default;
};

std::string missing_webhook(model::id webhook) {
    return "there is no webhook " + std::to_string(webhook) + ": latchkey webhooks list shows all";
}

std::string state_of(json_object const& webhook) {
    if (is_true(webhook, "enabled")) return "enabled";
    return "disabled (" + text_of(webhook, "disabled_reason") + ")";
}

std::vector<std::string> webhook_row(json_object const& webhook) {
    return {text_of(webhook, "id"),
            text_of(webhook, "url"),
            words_of(webhook, "types"),
            state_of(webhook),
            text_of(webhook, "position"),
            time_of(webhook, "failing_since"),
            text_of(webhook, "project", "(all)")};
}

// Printed after the snapshot is released: a slow terminal must not keep old pages in use.
std::optional<refusal> list_here(store_command const& options, std::vector<std::string>& records) {
    int code = done;
    auto const store = open_store(options, code, store_access::reads);
    if (store == nullptr) return refusal{{}, code};
    domain::snapshot snapshot(*store);
    snapshot.renew();
    auto const now = snapshot.time();
    domain::list_webhooks(snapshot, std::nullopt, {.limit = UINT32_MAX},
                          [&](domain::webhook_entry const& entry) {
                              api::append_webhook(records.emplace_back(), entry, now);
                          });
    if (snapshot.damaged()) return refusal{{}, report_damage()};
    return std::nullopt;
}

int list_webhooks(api_command const& options) {
    std::vector<std::string> records;
    std::optional<refusal> failure;
    if (options.is_remote())
        failure = each_elsewhere(options, "/webhooks", {},
                                 [&](std::string_view record) { records.emplace_back(record); });
    else
        failure = list_here(options, records);
    if (failure) return report(*failure);
    if (options.json) {
        print_page(records);
        return done;
    }
    std::vector<std::vector<std::string>> rows{
        {"ID", "URL", "TYPES", "STATE", "POSITION", "FAILING SINCE", "PROJECT"}};
    for (auto const& each : records) rows.push_back(webhook_row(parse_object(each).value()));
    print_table(rows);
    return done;
}

void print_webhook_rows(json_object const& webhook) {
    std::vector<std::vector<std::string>> rows;
    auto const row = webhook_row(webhook);
    for (std::size_t i = 0; auto const* const name :
                            {"id", "url", "types", "state", "position", "failing since", "project"})
        rows.push_back({name, row[i++]});
    rows.push_back({"description", text_of(webhook, "description", "-")});
    rows.push_back({"ordered", is_true(webhook, "ordered") ? "yes" : "no"});
    rows.push_back({"max per second", text_of(webhook, "max_per_second", "-")});
    for (auto const& [name, value] : object_of(webhook, "headers"))
        rows.push_back({"header " + std::string(name), "***"});
    rows.push_back({"signatures", words_of(webhook, "signatures")});
    if (auto const key = text_of(webhook, "public_key"); !key.empty())
        rows.push_back({"public key", key});
    rows.push_back({"rotation ends", time_of(webhook, "secret_rotation_ends_at")});
    rows.push_back({"disabled", time_of(webhook, "disabled_at")});
    rows.push_back({"created", time_of(webhook, "created_at")});
    auto const creator = text_of(webhook, "created_by");
    rows.push_back({"created by", creator.empty() ? "the command line" : "key " + creator});
    rows.push_back({"changed", time_of(webhook, "updated_at")});
    print_record(rows);
}

answer_of<std::string> show_here(webhook_command const& options) {
    int code = done;
    auto const store = open_store(options, code, store_access::reads);
    if (store == nullptr) return refusal{{}, code};
    domain::snapshot snapshot(*store);
    snapshot.renew();
    auto const entry = domain::find_webhook(snapshot, options.id);
    if (snapshot.damaged()) return refusal{{}, report_damage()};
    if (!entry) return refusal{missing_webhook(options.id), failed};
    std::string document;
    api::append_webhook(document, *entry, snapshot.time());
    return document;
}

int show(webhook_command const& options) {
    auto const document =
        options.is_remote() ? options.ask("GET", webhook_path(options.id)) : show_here(options);
    if (!document) return report(document.error());
    if (options.json)
        std::printf("%s\n", document->c_str());
    else
        print_webhook_rows(parse_object(*document).value());
    return done;
}

std::vector<std::string> delivery_row(json_object const& delivery) {
    auto const attempts = objects_of(delivery, "attempts");
    std::string time = "-", answer = "-";
    if (!attempts.empty()) {
        auto const& attempt = *attempts.back();
        time = time_of(attempt, "at");
        answer = text_of(attempt, "status", text_of(attempt, "error"));
    }
    return {text_of(delivery, "sequence"),
            text_of(delivery, "type"),
            text_of(delivery, "state"),
            std::to_string(attempts.size()),
            time,
            answer,
            time_of(delivery, "next_attempt_at")};
}

std::string page_of(std::vector<std::string> const& records, domain::delivery_page const& page) {
    std::string document = "{\"data\":[";
    for (auto const& each : records)
        document.append(&each == records.data() ? "" : ",").append(each);
    auto const next = page.has_more ? std::to_string(page.next_before) : "null";
    return document + "],\"pagination\":{\"next_before\":" + next +
           ",\"has_more\":" + (page.has_more ? "true}}" : "false}}");
}

answer_of<std::string> deliveries_here(deliveries_options const& options) {
    domain::delivery_range const range{.bound = options.bound,
                                       .state = model::find_delivery_state(options.state),
                                       .limit = options.limit};
    int code = done;
    auto const store = open_store(options, code, store_access::reads);
    if (store == nullptr) return refusal{{}, code};
    std::vector<std::string> records;
    domain::snapshot snapshot(*store);
    snapshot.renew();
    if (!domain::find_webhook(snapshot, options.id) && !snapshot.damaged())
        return refusal{missing_webhook(options.id), failed};
    auto const page =
        domain::list_deliveries(snapshot, options.id, range, [&](model::delivery const& delivery) {
            api::append_delivery(records.emplace_back(), delivery,
                                 api::message_id_of(snapshot, delivery.sequence));
        });
    if (snapshot.damaged()) return refusal{{}, report_damage()};
    return page_of(records, page);
}

int deliveries(deliveries_options const& options) {
    if (!options.state.empty() && !model::find_delivery_state(options.state))
        return report_usage_error("--state must be pending, delivered or failed");
    query_text query;
    query.add("limit", std::to_string(options.limit)).add("state", options.state);
    if (options.bound != 0) query.add("before", std::to_string(options.bound));
    auto const document =
        options.is_remote()
            ? options.ask("GET", webhook_path(options.id, "/deliveries") + query.text())
            : deliveries_here(options);
    if (!document) return report(document.error());
    if (options.json) {
        std::printf("%s\n", document->c_str());
        return done;
    }
    std::vector<std::vector<std::string>> rows{
        {"SEQUENCE", "TYPE", "STATE", "ATTEMPTS", "LAST ATTEMPT", "ANSWER", "NEXT ATTEMPT"}};
    auto const page = parse_object(*document).value();
    for (auto const* const delivery : objects_of(page, "data"))
        rows.push_back(delivery_row(*delivery));
    print_table(rows);
    return done;
}

void add_deliveries(CLI::App& webhooks, int& code) {
    auto* const command =
        webhooks.add_subcommand("deliveries", "Show what became of the changes sent to a webhook");
    auto const options = std::make_shared<deliveries_options>();
    options->add_id(*command);
    options->add_to(*command);
    command->add_option("--state", options->state, "Only pending, delivered or failed ones")
        ->type_name("{pending,delivered,failed}");
    take_number(command->add_option("--before", options->bound, "Only changes below this sequence"),
                1, base::limits::id_max);
    take_number(command->add_option("--limit", options->limit, "The most deliveries, 1 to 100"), 1,
                base::limits::page_limit_max)
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
    auto const list_options = std::make_shared<api_command>();
    list_options->add_to(*list_command);
    list_command->footer("Example: latchkey webhooks list --json | jq '.data[].url'");
    list_command->callback([list_options, &code] { code = list_webhooks(*list_options); });

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
