// latchkey audit: prints the audit log, and verifies its hash chain.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdio>

#include "api/audit/audit_json.hpp"
#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "cli/frame/api_command.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/time_option.hpp"
#include "cli/frame/whole_number.hpp"
#include "cli/keys/keys.hpp"
#include "domain/audit/audit_lists.hpp"
#include "domain/audit/verify_audit.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::cli {
namespace {

constexpr std::uint32_t entries_per_snapshot = 1000;

struct audit_options : api_command {
    bool verify = false;
    std::string action, begin, end;
    model::id key = 0;

    bool has_filter() const {
        return !action.empty() || !begin.empty() || !end.empty() || key != 0;
    }
};

domain::audit_filter filter_of(audit_options const& options) {
    domain::audit_filter filter;
    filter.action = domain::find_audit_action(options.action);
    if (options.key != 0) filter.key = options.key;
    filter.begin = base::parse_timestamp(options.begin);
    filter.end = base::parse_timestamp(options.end);
    return filter;
}

// A sentence about options that are wrong.
std::optional<std::string> fault_of(audit_options const& options) {
    if (options.verify && options.has_filter())
        return "--verify reads the whole log: leave out what selects entries";
    if (options.verify && options.is_remote())
        return "--verify reads the store itself: run it on the machine of the service";
    for (auto const& [name, text] :
         {std::pair("--from", options.begin), std::pair("--to", options.end)})
        if (!text.empty() && !base::parse_timestamp(text))
            return std::string(name) + " must be a time such as 2026-01-02T03:04:05Z, or a day";
    auto const filter = filter_of(options);
    if (filter.begin && filter.end && *filter.begin >= *filter.end)
        return "--from must be before --to";
    return std::nullopt;
}

query_text query_of(audit_options const& options) {
    query_text query;
    query.add("action", options.action).add("from", options.begin).add("to", options.end);
    if (options.key != 0) query.add("key", std::to_string(options.key));
    return query;
}

std::string hex_of(model::digest const& digest) {
    return base::to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()});
}

int verify_log(store::environment& store, bool json) {
    auto const report = domain::verify_audit(store);
    for (auto const& sentence : report.wrong) base::log(base::severity::failure, sentence);
    if (json)
        std::printf("{\"valid\":%s,\"entries\":%llu,\"last_hash\":\"%s\"}\n",
                    report.wrong.empty() ? "true" : "false",
                    static_cast<unsigned long long>(report.entries), hex_of(report.last).c_str());
    else if (report.wrong.empty())
        std::printf("%s, the hash chain is valid; the last entry has the hash %s\n",
                    counted(report.entries, "entry", "entries").c_str(),
                    hex_of(report.last).c_str());
    return report.wrong.empty() ? done : failed;
}

std::vector<std::string> row_of(json_object const& entry) {
    auto const actor = text_of(entry, "actor_key_id");
    auto const webhook = text_of(entry, "webhook_id"), source = text_of(entry, "source");
    auto const subject =
        !webhook.empty()  ? "webhook " + webhook
        : !source.empty() ? "source " + source
                          : "key " + text_of(entry, "key_id") + " in " + text_of(entry, "project");
    auto fields = words_of(entry, "fields");
    std::ranges::replace(fields, ' ', ',');
    return {text_of(entry, "id"),
            time_of(entry, "created_at"),
            text_of(entry, "action"),
            subject,
            actor.empty() ? "the command line" : "key " + actor,
            text_of(entry, "address", "-"),
            fields};
}

// Prints entries as they come: as a table, or as the document of GET /audit on one page.
class audit_printer {
  public:
    explicit audit_printer(bool json) : json_(json) {
        if (json_) std::printf("{\"data\":[");
    }
    void print(std::vector<std::string> const& entries) {
        std::vector<std::vector<std::string>> rows;
        if (widths_.empty() && !json_)
            rows.push_back({"ID", "TIME", "ACTION", "OF", "BY", "FROM", "FIELDS"});
        for (auto const& entry : entries) {
            if (json_) std::printf("%s%s", count_ == 0 ? "" : ",", entry.c_str());
            if (!json_) rows.push_back(row_of(parse_object(entry).value()));
            ++count_;
        }
        print_part(std::move(rows), widths_);
    }
    void end() const {
        auto const number = static_cast<unsigned long long>(count_);
        if (json_)
            std::printf(
                "],\"pagination\":{\"page\":1,\"limit\":%llu,\"total\":%llu,\"total_pages\":%d,"
                "\"has_more\":false,\"next_cursor\":null}}\n",
                number, number, count_ == 0 ? 0 : 1);
    }

  private:
    bool json_;
    std::uint64_t count_ = 0;
    std::vector<std::size_t> widths_;
};

// Reads in parts, so that a slow reader of the output keeps no snapshot open. False: an entry is
// damaged, and the document is cut off.
bool print_all(store::environment& store, audit_options const& options) {
    auto const filter = filter_of(options);
    domain::snapshot snapshot(store);
    audit_printer printer(options.json);
    domain::range part{.limit = entries_per_snapshot, .cost_max = base::limits::page_cost_max};
    for (bool has_more = true; has_more;) {
        std::vector<std::string> entries;
        snapshot.renew();
        auto const listed =
            audit_entries(snapshot, filter, part, [&](domain::audit_entry const& entry) {
                api::append_audit_entry(entries.emplace_back(), entry);
            });
        bool const damaged = snapshot.damaged();
        snapshot.reset();
        if (damaged) return false;
        printer.print(entries);
        has_more = listed.has_more;
        part.after_id = listed.last;
    }
    printer.end();
    return true;
}

int print_elsewhere(audit_options const& options) {
    auto const connection = remote_api::connect(options.elsewhere);
    if (!connection) return report(connection.error());
    std::vector<std::string> entries;
    auto const failure =
        (*connection)->each("/audit", query_of(options), [&](std::string_view entry) {
            entries.emplace_back(entry);
        });
    if (failure) return report(*failure);
    audit_printer printer(options.json);
    printer.print(entries);
    printer.end();
    return done;
}

int audit(audit_options const& options) {
    if (auto const fault = fault_of(options)) return report_usage_error(*fault);
    if (options.is_remote()) return print_elsewhere(options);
    int code = done;
    auto const store = open_store(options, code, store_access::copies);
    if (store == nullptr) return code;
    if (options.verify) return verify_log(*store, options.json);
    return print_all(*store, options) ? done : report_damage();
}

}  // namespace

void add_audit(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("audit", "Print or verify the log of changes to keys and secrets");
    auto const options = std::make_shared<audit_options>();
    options->add_to(*command);
    command->add_flag("--verify", options->verify,
                      "Verify that each entry has the hash of the entry before it");
    auto const names = domain::audit_names();
    command->add_option("--action", options->action, "Only entries of this action")
        ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
    take_number(command->add_option("--key", options->key,
                                    "Only entries about the key with this id, and of what it did"),
                1, base::limits::id_max);
    take_time(command->add_option("--from", options->begin,
                                  "Only entries of this time on, such as 2026-01-02T03:04:05Z or "
                                  "2026-01-02"));
    take_time(command->add_option("--to", options->end, "Only entries before this time"));
    command->footer(
        "Prints the oldest entry first; --json prints the document of GET /audit on one page.\n"
        "If --verify fails, the log was changed outside of latchkey: restore a backup.\n"
        "Example: latchkey audit --key 17 --from 2026-01-01");
    command->callback([options, &code] { code = audit(*options); });
}

}  // namespace latchkey::cli
