// latchkey usage, keys usage: how much keys were used, as a table, and as bars in the terminal.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "cli/frame/bar_chart.hpp"
#include "cli/frame/key_text.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/progress.hpp"
#include "cli/frame/time_option.hpp"
#include "cli/frame/whole_number.hpp"
#include "cli/keys/keys.hpp"
#include "cli/keys/keys_backend.hpp"

namespace latchkey::cli {
namespace {

using table = std::vector<std::vector<std::string>>;

constexpr std::size_t table_columns_max = 100, name_columns_max = 50;  // the latter leave bars room

struct usage_options : api_command {
    model::id id = 0;
    std::string begin, end, granularity;
    std::vector<model::id> keys;
    std::uint32_t top = 10;
    CLI::Option* top_option = nullptr;
    bool has_chart = false;

    void add_to(CLI::App& command);
    query_text query() const;
};

void usage_options::add_to(CLI::App& command) {
    api_command::add_to(command);
    take_time(command.add_option("--from", begin,
                                 "The first time, such as 2026-01-02T03:04:05Z or 2026-01-02 "
                                 "(default: 24 hours before --to)"));
    take_time(command.add_option("--to", end, "The end, which is not included (default: now)"));
    command
        .add_option("--granularity", granularity,
                    "Steps of a minute, an hour or a day (default: hour)")
        ->check(CLI::IsMember({"minute", "hour", "day"}));
    command.add_flag("--chart", has_chart, "Draw bars instead of the table");
}

query_text usage_options::query() const {
    query_text query;
    query.add("from", begin).add("to", end).add("granularity", granularity);
    return query;
}

std::string number_text(json_object const& document, std::string_view name) {
    return with_commas(static_cast<std::uint64_t>(number_of(document, name)));
}

// "2026-01-02 03:04", the steps being a minute at least.
std::string start_of(json_object const& point) {
    return time_of(point, "start").substr(0, 16);
}

// The steps of one key, or of all together.
void print_points(std::vector<json_object const*> const& points, bool has_chart) {
    if (has_chart) {
        std::vector<bar> bars;
        for (auto const* const point : points)
            bars.push_back({start_of(*point),
                            static_cast<std::uint64_t>(number_of(*point, "requests")),
                            static_cast<std::uint64_t>(number_of(*point, "limited"))});
        return print_bars(bars);
    }
    table rows{{"START", "REQUESTS", "2XX", "3XX", "4XX", "5XX", "LIMITED"}};
    for (auto const* const point : points) {
        auto const& classes = object_of(*point, "by_status");
        rows.push_back({start_of(*point), number_text(*point, "requests"),
                        number_text(classes, "2xx"), number_text(classes, "3xx"),
                        number_text(classes, "4xx"), number_text(classes, "5xx"),
                        number_text(*point, "limited")});
    }
    print_table(rows);
}

std::uint64_t sum_of(std::vector<json_object const*> const& points, std::string_view name) {
    std::uint64_t sum = 0;
    for (auto const* const point : points)
        sum += static_cast<std::uint64_t>(number_of(*point, name));
    return sum;
}

int print_usage_of(usage_options const& options) {
    int code = done;
    auto const keys = open_keys(options, code, store_access::reads);
    if (keys == nullptr) return code;
    auto const document = keys->usage(options.id, options.query());
    if (!document) return report(document.error());
    if (options.json) {
        std::printf("%s\n", document->c_str());
        return done;
    }
    auto const answer = parse_object(*document).value();
    auto const points = objects_of(answer, "data");
    print_points(points, options.has_chart);
    base::log(counted(sum_of(points, "requests"), "request") + ", " +
              with_commas(sum_of(points, "limited")) + " of them refused by the rate limits");
    return done;
}

// What the key is for; "-": it cannot be read, such as by a key to ask with that may not.
std::string name_of(keys_backend& keys, json_object const& usage) {
    auto const key = keys.show(number_of(usage, "key_id"));
    return key ? text_of(parse_object(*key).value(), "name", "-") : "-";
}

// One row or bar for each key, then one for all that were asked for.
void print_keys(keys_backend& keys, json_object const& answer, bool has_chart) {
    std::vector<bar> bars;
    table rows{{"KEY", "NAME", "REQUESTS", "LIMITED"}};
    auto const add = [&](std::string const& id, std::string name, json_object const& usage) {
        auto const limited = sum_of(objects_of(usage, "points"), "limited");
        rows.push_back({id, std::move(name), number_text(usage, "requests"), with_commas(limited)});
        bars.push_back({{}, static_cast<std::uint64_t>(number_of(usage, "requests")), limited});
    };
    for (auto const* const usage : objects_of(answer, "data"))
        add(text_of(*usage, "key_id"), name_of(keys, *usage), *usage);
    static constexpr flexible_column names[] = {{1, 7}};
    fit_columns(rows, has_chart ? name_columns_max : table_columns_max, names);
    if (!has_chart) {
        add("all keys", "", object_of(answer, "total"));
        return print_table(rows);
    }
    for (std::size_t i = 0; i < bars.size(); ++i)
        bars[i].title = rows[i + 1][0] + " " + rows[i + 1][1];
    print_bars(bars);
}

int print_usage(usage_options const& options) {
    auto query = options.query();
    std::string ids;
    for (auto const id : options.keys) ids += (ids.empty() ? "" : ",") + std::to_string(id);
    query.add("key_id", ids);
    if (options.top_option->count() != 0) query.add("top", std::to_string(options.top));
    int code = done;
    auto const keys = open_keys(options, code, store_access::reads);
    if (keys == nullptr) return code;
    auto const document = keys->usage(0, query);
    if (!document) return report(document.error());
    if (options.json) {
        std::printf("%s\n", document->c_str());
        return done;
    }
    auto const answer = parse_object(*document).value();
    print_keys(*keys, answer, options.has_chart);
    std::printf("\n");
    print_points(objects_of(object_of(answer, "total"), "points"), options.has_chart);
    if (!is_true(answer, "complete"))
        base::log(base::severity::warning,
                  "there was more than one answer reads, so the sums are too low: ask for less "
                  "time or a coarser --granularity");
    return done;
}

}  // namespace

void add_keys_usage(CLI::App& keys, int& code) {
    auto* const command =
        keys.add_subcommand("usage", "Show how much a key was used, step by step");
    auto const options = std::make_shared<usage_options>();
    take_number(command->add_option("ID", options->id, key_id_help), 1, base::limits::id_max)
        ->required();
    options->add_to(*command);
    command->footer(
        "A running service writes what it has counted every 5 seconds. Minutes are kept for 24\n"
        "hours, hours for 31 days, days for 400.\n"
        "Example: latchkey keys usage 17 --granularity day --from 2026-01-01T00:00:00Z --chart");
    command->callback([options, &code] { code = print_usage_of(*options); });
}

void add_usage(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("usage", "Show the busiest keys, and how much all were used");
    auto const options = std::make_shared<usage_options>();
    options->add_to(*command);
    take_number(command->add_option("--key", options->keys,
                                    "Only of the key with this id; repeat for more"),
                1, base::limits::id_max)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    options->top_option = take_number(command->add_option("--top", options->top,
                                                          "How many of the busiest keys, 1 to 100"),
                                      1, 100)
                              ->capture_default_str();
    command->footer(
        "First the keys, then the steps of time. Of one key alone: latchkey keys usage.\n"
        "Example: latchkey usage --top 5 --granularity day --from 2026-01-01T00:00:00Z --chart");
    command->callback([options, &code] { code = print_usage(*options); });
}

}  // namespace latchkey::cli
