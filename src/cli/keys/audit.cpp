// latchkey audit: prints the audit log, and verifies its hash chain.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdio>

#include "api/audit/audit_json.hpp"
#include "base/bytes.hpp"
#include "base/system/log.hpp"
#include "base/visible.hpp"
#include "cli/frame/api_command.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/print.hpp"
#include "cli/keys/keys.hpp"
#include "domain/audit/audit_lists.hpp"
#include "domain/audit/verify_audit.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::cli {
namespace {

constexpr std::uint32_t entries_per_snapshot = 1000;

struct audit_options : api_command {
    bool verify = false;
};

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

std::string line_of(json_object const& entry) {
    auto const actor = text_of(entry, "actor_key_id");
    auto const webhook = text_of(entry, "webhook_id"), source = text_of(entry, "source");
    auto const subject =
        !webhook.empty()  ? "webhook " + webhook
        : !source.empty() ? "source " + source
                          : "key " + text_of(entry, "key_id") + " in " + text_of(entry, "project");
    auto action = text_of(entry, "action");
    action.resize(std::max<std::size_t>(action.size(), 14), ' ');
    auto fields = words_of(entry, "fields");
    std::ranges::replace(fields, ' ', ',');
    auto const address = text_of(entry, "address");
    return text_of(entry, "id") + "  " + time_of(entry, "created_at") + "  " + action + "  " +
           base::visible(subject) + "  by " +
           (actor.empty() ? "the command line" : "key " + actor) +
           (address.empty() ? "" : " from " + address) + "  " + base::visible(fields);
}

// Prints entries as they come: as lines, or as the document of GET /audit on one page.
class audit_printer {
  public:
    explicit audit_printer(bool json) : json_(json) {
        if (json_) std::printf("{\"data\":[");
    }
    void print(std::string_view entry) {
        auto const text = json_ ? std::string(count_ == 0 ? "" : ",").append(entry)
                                : line_of(parse_object(entry).value()) + "\n";
        std::fwrite(text.data(), 1, text.size(), stdout);
        ++count_;
    }
    void end() const {
        auto const number = static_cast<unsigned long long>(count_);
        if (json_)
            std::printf(
                "],\"pagination\":{\"page\":1,\"limit\":%llu,\"total\":%llu,\"total_pages\":1,"
                "\"has_more\":false,\"next_cursor\":null}}\n",
                number, number);
    }

  private:
    bool json_;
    std::uint64_t count_ = 0;
};

// Reads in parts, so that a slow reader of the output keeps no snapshot open. False: an entry is
// damaged, and the document is cut off.
bool print_all(store::environment& store, bool json) {
    domain::snapshot snapshot(store);
    audit_printer printer(json);
    for (model::id last_id = 0;;) {
        std::vector<std::string> entries;
        snapshot.renew();
        audit_entries(snapshot, std::nullopt, {.after_id = last_id, .limit = entries_per_snapshot},
                      [&](domain::audit_entry const& entry) {
                          api::append_audit_entry(entries.emplace_back(), entry);
                          last_id = entry.id;
                      });
        bool const damaged = snapshot.damaged();
        snapshot.reset();
        if (damaged) return false;
        if (entries.empty()) break;
        for (auto const& entry : entries) printer.print(entry);
    }
    printer.end();
    return true;
}

int print_elsewhere(audit_options const& options) {
    auto const connection = remote_api::connect(options.elsewhere);
    if (!connection) return report(connection.error());
    std::vector<std::string> entries;
    auto const failure = (*connection)->each("/audit", {}, [&](std::string_view entry) {
        entries.emplace_back(entry);
    });
    if (failure) return report(*failure);
    audit_printer printer(options.json);
    for (auto const& entry : entries) printer.print(entry);
    printer.end();
    return done;
}

int audit(audit_options const& options) {
    if (options.is_remote() && options.verify)
        return report_usage_error(
            "--verify reads the store itself: run it on the machine of the service");
    if (options.is_remote()) return print_elsewhere(options);
    int code = done;
    auto const store = open_store(options, code, store_access::copies);
    if (store == nullptr) return code;
    if (options.verify) return verify_log(*store, options.json);
    return print_all(*store, options.json) ? done : report_damage();
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
    command->callback([options, &code] { code = audit(*options); });
}

}  // namespace latchkey::cli
