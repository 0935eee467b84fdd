// latchkey reset-time: repairs the timestamps of a store that was written while the clock was
// ahead.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/frame/json/json_writer.hpp"
#include "base/system/log.hpp"
#include "cli/data/data.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/progress.hpp"
#include "cli/frame/standard_output.hpp"
#include "cli/frame/store_command.hpp"
#include "domain/admin/time_reset.hpp"

namespace latchkey::cli {
namespace {

struct reset_options : store_command {
    bool dry_run = false;
};

// {"dry_run":…,"last_write":…,"now":…,"changed":{"users":…},"audit_entries_ahead":…}
void print_document(domain::time_reset const& report, bool dry_run) {
    std::string document = "{\"dry_run\":";
    document.append(dry_run ? "true" : "false").append(",\"last_write\":");
    api::append_timestamp(document, report.last_write);
    document.append(",\"now\":");
    api::append_timestamp(document, report.now);
    document.append(",\"changed\":{");
    for (bool first = true; auto const& each : report.counts) {
        document.append(std::exchange(first, false) ? "\"" : ",\"").append(each.name.member);
        document.append("\":");
        api::append_number(document, each.number);
    }
    document.append("},\"audit_entries_ahead\":");
    api::append_number(document, report.audit_entries);
    std::printf("%s}\n", document.c_str());
}

void print_report(domain::time_reset const& report, bool dry_run) {
    auto const old_time = format_time(report.last_write, "-"), now = format_time(report.now, "-");
    if (report.last_write == report.now)
        return base::log("the last write to the store was at " + old_time +
                         ", which is not ahead of the clock: nothing needs to be repaired");
    std::string changes;
    for (auto const& each : report.counts)
        if (each.number != 0)
            changes += (changes.empty() ? "" : ", ") +
                       counted(each.number, each.name.noun, each.name.plural);
    base::log(std::string(dry_run ? "would set" : "set") + " the time of the store from " +
              old_time + " to " + now +
              (changes.empty() ? std::string() : "; changed timestamps: " + changes));
    if (report.audit_entries != 0)
        base::log("the audit log is unchanged: " + counted(report.audit_entries,
                                                           "entry has a later time",
                                                           "entries have a later time"));
    base::log(
        "keys whose expires_at was changed while the clock was wrong keep it: check them with "
        "latchkey keys list");
}

int reset(reset_options const& options) {
    int code = done;
    auto const store = open_store(options, code, store_access::repairs);
    if (store == nullptr) return code;
    if (auto const claim = store->claim_for_server(); !claim)
        return report_failure(claim.error().message);
    auto const report = domain::reset_time(*store, options.dry_run);
    if (!report) return report_failure(report.error().message);
    if (!options.dry_run) note_outcome("the time of the store was repaired");
    options.json ? print_document(*report, options.dry_run)
                 : print_report(*report, options.dry_run);
    return done;
}

}  // namespace

void add_reset_time(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand(
        "reset-time", "Repair a store that was written while the clock was ahead");
    auto const options = std::make_shared<reset_options>();
    options->add_to(*command);
    command->add_flag("--dry-run", options->dry_run, "Print what would change, and change nothing");
    command->footer(
        "Correct the clock, stop the service and make a backup first. Times after now are set\n"
        "to now (records, events, uses of keys). Periods that would begin after now begin now\n"
        "and keep their length: lifetimes of keys, overlaps of rotations, outcomes under\n"
        "Idempotency-Keys. The audit log is not changed. After an interruption run the same\n"
        "command again: it resumes. Then start the service.\n"
        "Example: latchkey reset-time --dry-run --data /var/lib/latchkey");
    command->callback([options, &code] { code = reset(*options); });
}

}  // namespace latchkey::cli
