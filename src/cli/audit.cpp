// latchkey audit: prints the audit log, and verifies its hash chain.
#include <cstdio>

#include "api/resources/audit_json.hpp"
#include "base/bytes.hpp"
#include "base/log.hpp"
#include "base/visible.hpp"
#include "cli/print.hpp"
#include "cli/store_command.hpp"
#include "store/admin/verify_audit.hpp"
#include "store/snapshot.hpp"

namespace latchkey::cli {
namespace {

constexpr std::uint32_t entries_per_snapshot = 1000;

struct audit_options : store_command {
    bool verify = false;
};

std::string hex_of(model::digest const& digest) {
    return base::to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()});
}

int verify_log(store::environment& store, bool json) {
    auto const report = store::verify_audit(store);
    for (auto const& sentence : report.wrong) base::log(base::severity::failure, sentence);
    if (json)
        std::printf("{\"valid\":%s,\"entries\":%llu,\"last_hash\":\"%s\"}\n",
                    report.wrong.empty() ? "true" : "false",
                    static_cast<unsigned long long>(report.entries), hex_of(report.last).c_str());
    else if (report.wrong.empty())
        std::printf("%llu entries, the hash chain is valid; the last entry has the hash %s\n",
                    static_cast<unsigned long long>(report.entries), hex_of(report.last).c_str());
    return report.wrong.empty() ? done : failed;
}

void print_entry(store::audit_entry const& entry) {
    std::string fields;
    for (auto const& each : entry.fields) fields += (fields.empty() ? "" : ",") + each;
    auto const actor =
        entry.actor == 0 ? std::string("the command line") : "key " + std::to_string(entry.actor);
    auto const subject = store::is_about_webhook(entry.action) ? "webhook " + entry.source
                         : !entry.source.empty()
                             ? "source " + entry.source
                             : "key " + std::to_string(entry.key) + " in " + entry.project;
    std::printf("%lld  %s  %-14s  %s  by %s%s%s  %s\n", static_cast<long long>(entry.id),
                format_time(entry.time, "-").c_str(),
                std::string(store::name_of(entry.action)).c_str(), base::visible(subject).c_str(),
                actor.c_str(), entry.address ? " from " : "",
                entry.address ? entry.address->text().c_str() : "", base::visible(fields).c_str());
}

// Reads in parts, so that a slow reader of the output keeps no snapshot open. With --json the
// document is that of GET /audit on one page. False: an entry is damaged, and the document is cut
// off.
bool print_all(store::environment& store, bool json) {
    store::snapshot snapshot(store);
    std::uint64_t count = 0;
    if (json) std::printf("{\"data\":[");
    for (model::id last_id = 0;;) {
        std::vector<store::audit_entry> entries;
        snapshot.renew();
        snapshot.audit(std::nullopt, {.after_id = last_id, .limit = entries_per_snapshot},
                       [&](store::audit_entry const& entry) { entries.push_back(entry); });
        bool const damaged = snapshot.damaged();
        snapshot.reset();
        if (damaged) return false;
        if (entries.empty()) break;
        last_id = entries.back().id;
        for (auto const& entry : entries) {
            std::string text = count++ == 0 ? "" : ",";
            if (!json) {
                print_entry(entry);
                continue;
            }
            api::append_audit_entry(text, entry);
            std::fwrite(text.data(), 1, text.size(), stdout);
        }
    }
    auto const number = static_cast<unsigned long long>(count);
    if (json)
        std::printf(
            "],\"pagination\":{\"page\":1,\"limit\":%llu,\"total\":%llu,\"total_pages\":1,"
            "\"has_more\":false,\"next_cursor\":null}}\n",
            number, number);
    return true;
}

}  // namespace

void add_audit(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("audit", "Print or verify the log of changes to keys and secrets");
    auto const options = std::make_shared<audit_options>();
    options->add_to(*command);
    command->add_flag("--verify", options->verify,
                      "Verify that each entry has the hash of the entry before it");
    command->footer(
        "Prints the oldest entry first; --json prints the document of GET /audit on one page.\n"
        "If --verify fails, the log was changed outside of latchkey: restore a backup.\n"
        "Example: latchkey audit --verify --data /var/lib/latchkey");
    command->callback([options, &code] {
        auto const store = open_store(*options, code, store_access::copies);
        if (store == nullptr) return;
        if (options->verify)
            code = verify_log(*store, options->json);
        else if (!print_all(*store, options->json))
            code = report_damage();
    });
}

}  // namespace latchkey::cli
