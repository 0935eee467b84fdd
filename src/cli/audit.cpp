// latchkey audit: reads the audit log, and checks that nobody touched it.
#include <cstdio>

#include "api/audit_json.hpp"
#include "base/bytes.hpp"
#include "base/log.hpp"
#include "cli/keys.hpp"
#include "store/snapshot.hpp"

namespace latchkey::cli {
namespace {

constexpr std::uint32_t entries_per_snapshot = 1000;

struct audit_options : key_command {
    bool verify = false;
};

std::string hex_of(model::digest const& digest) {
    return base::to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()});
}

int verify(store::environment& store, bool json) {
    auto const report = store::verify_audit(store);
    for (auto const& sentence : report.wrong) base::say(base::severity::failure, sentence);
    if (json)
        std::printf("{\"valid\":%s,\"entries\":%llu,\"last_hash\":\"%s\"}\n",
                    report.wrong.empty() ? "true" : "false",
                    static_cast<unsigned long long>(report.entries), hex_of(report.last).c_str());
    else if (report.wrong.empty())
        std::printf("%llu entries, each follows the one before; the last has the hash %s\n",
                    static_cast<unsigned long long>(report.entries), hex_of(report.last).c_str());
    return report.wrong.empty() ? done : failed;
}

void print_entry(store::audit_entry const& entry) {
    std::string fields;
    for (auto const& each : entry.fields) fields += (fields.empty() ? "" : ",") + each;
    auto const actor =
        entry.actor == 0 ? std::string("the command line") : "key " + std::to_string(entry.actor);
    auto const what = entry.source.empty()
                          ? "key " + std::to_string(entry.key) + " in " + entry.project
                          : "source " + entry.source;
    std::printf("%lld  %s  %-14s  %s  by %s%s%s  %s\n", static_cast<long long>(entry.id),
                shown_time(entry.at, "-").c_str(),
                std::string(store::name_of(entry.action)).c_str(), what.c_str(), actor.c_str(),
                entry.from ? " from " : "", entry.from ? entry.from->text().c_str() : "",
                fields.c_str());
}

// In parts, so that no old page is held while somebody reads. With --json the document is that of
// GET /audit, all on one page.
void print_all(store::environment& store, bool json) {
    store::snapshot seen(store);
    std::uint64_t count = 0;
    if (json) std::printf("{\"data\":[");
    for (model::id after = 0;;) {
        std::vector<store::audit_entry> some;
        seen.renew();
        seen.audit(std::nullopt, {.after = after, .limit = entries_per_snapshot},
                   [&](store::audit_entry const& entry) { some.push_back(entry); });
        seen.reset();
        if (some.empty()) break;
        after = some.back().id;
        for (auto const& entry : some) {
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
}

}  // namespace

void add_audit(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("audit", "Show who changed which key or secret, and check that log");
    auto const options = std::make_shared<audit_options>();
    options->add_to(*command);
    command->add_flag("--verify", options->verify,
                      "Check that each entry carries the hash of the one before it");
    command->callback([options, &code] {
        auto const store = open_store(*options, code, true);
        if (store == nullptr) return;
        if (options->verify) return void(code = verify(*store, options->json));
        print_all(*store, options->json);
    });
}

}  // namespace latchkey::cli
