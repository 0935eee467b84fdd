// events list: what external services have sent.
#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>

#include "api/events/event_json.hpp"
#include "base/limits.hpp"
#include "cli/changes/events.hpp"
#include "cli/frame/api_command.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/whole_number.hpp"
#include "domain/events/event_lists.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct list_options : api_command {
    std::string source;
    std::uint32_t limit = 20;
    bool is_all = false;
};

constexpr std::size_t payload_points_max = 60;

// The first of a payload, on one line.
std::string beginning_of(std::string const& payload) {
    if (payload.size() <= payload_points_max) return payload;
    auto end = payload_points_max;
    while (end > 0 && (static_cast<unsigned char>(payload[end]) & 0xc0) == 0x80) --end;
    return payload.substr(0, end) + "…";
}

std::vector<std::string> row_of(json_object const& event) {
    return {text_of(event, "id"),
            text_of(event, "source"),
            time_of(event, "received_at"),
            is_true(event, "verified") ? "yes" : "no",
            text_of(event, "key_id", "-"),
            text_of(event, "delivery_id", "-"),
            beginning_of(text_of(event, "payload"))};
}

// The newest first; the records are kept until the snapshot is released.
std::optional<refusal> list_here(list_options const& options, std::vector<std::string>& records) {
    int code = done;
    auto const store = open_store(options, code, store_access::reads);
    if (store == nullptr) return refusal{{}, code};
    domain::snapshot snapshot(*store);
    snapshot.renew();
    std::optional<std::string_view> source;
    if (!options.source.empty()) source = options.source;
    domain::range const part{.limit = options.is_all ? UINT32_MAX : options.limit,
                             .descending = true};
    domain::list_events(snapshot, source, part, [&](model::event_view const& event) {
        api::append_event(records.emplace_back(), event);
    });
    if (snapshot.damaged()) return refusal{{}, report_damage()};
    return std::nullopt;
}

std::optional<refusal> list_elsewhere(list_options const& options,
                                      std::vector<std::string>& records) {
    query_text query;
    query.add("source", options.source).add("sort", "-id");
    auto const take = [&](std::string_view record) { records.emplace_back(record); };
    if (options.is_all) return each_elsewhere(options, "/events", query, take);
    query.add("limit", std::to_string(options.limit));
    auto const page = options.ask("GET", "/events" + query.text());
    if (!page) return page.error();
    auto const elements = page_elements(*page);
    if (!elements) return elements.error();
    for (auto const record : *elements) take(record);
    return std::nullopt;
}

int list(list_options const& options) {
    std::vector<std::string> records;
    auto const failure =
        options.is_remote() ? list_elsewhere(options, records) : list_here(options, records);
    if (failure) return report(*failure);
    if (options.json) {
        print_page(records);
        return done;
    }
    std::vector<std::vector<std::string>> rows{
        {"ID", "SOURCE", "RECEIVED", "SIGNED", "KEY", "DELIVERY", "PAYLOAD"}};
    for (auto const& each : records) rows.push_back(row_of(parse_object(each).value()));
    print_table(rows);
    return done;
}

}  // namespace

void add_events_list(CLI::App& events, int& code) {
    auto* const command =
        events.add_subcommand("list", "Show what external services have sent, the newest first");
    auto const options = std::make_shared<list_options>();
    options->add_to(*command);
    command->add_option("--source", options->source, "Only events of this source")
        ->check([](std::string const& text) {
            return model::is_event_source(text)
                       ? std::string()
                       : "a source is 1 to 32 of a-z, 0-9 and -, the first a letter";
        });
    take_number(command->add_option("--limit", options->limit, "The most events, 1 to 100"), 1,
                base::limits::page_limit_max)
        ->capture_default_str();
    command->add_flag("--all", options->is_all, "All that are kept")->excludes("--limit");
    command->footer(
        "A long payload is cut; --json shows it whole.\n"
        "Example: latchkey events list --source github --json | jq '.data[].payload'");
    command->callback([options, &code] { code = list(*options); });
}

}  // namespace latchkey::cli
