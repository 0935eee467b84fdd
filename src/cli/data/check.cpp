// latchkey check: validates the configuration and every record of the store.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/frame/json/json_writer.hpp"
#include "base/system/log.hpp"
#include "cli/data/data.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/store_command.hpp"
#include "domain/admin/inspect.hpp"

namespace latchkey::cli {
namespace {

struct check_options {
    setting_flags settings;
    bool json = false, configuration_only = false;
};

void append_list(std::string& output, std::vector<std::string> const& sentences) {
    api::append_array(output, sentences,
                      [&](std::string const& each) { api::append_string(output, each); });
}

// All that is wrong with a store, and what to do.
struct store_findings {
    domain::inspection_report report;
    std::vector<std::string> wrong;
    std::string advice;
};

store_findings findings_of(base::result<domain::inspection_report> outcome) {
    store_findings all;
    all.report = outcome ? std::move(*outcome)
                         : domain::inspection_report{.wrong = {outcome.error().message}};
    auto const& report = all.report;
    all.wrong = report.wrong;
    if (!report.time_ahead.empty()) all.wrong.push_back(report.time_ahead);
    if (!all.wrong.empty()) all.advice = domain::advice_on_damage;
    all.wrong.insert(all.wrong.end(), report.locked.begin(), report.locked.end());
    if (!report.locked.empty())
        all.advice.append(all.advice.empty() ? "" : " ").append(domain::advice_on_master_key);
    return all;
}

// {"configuration":{"valid":…,"wrong":[{"file":…,"line":…,…}]},
//  "store":null | {"valid":…,"users":…,"wrong":[…],"advice":…}}; no advice if all is valid.
void print_document(setting_faults const& configuration,
                    std::optional<store_findings> const& inspection) {
    std::string document = "{\"configuration\":{\"valid\":";
    document.append(configuration.empty() ? "true" : "false").append(",\"wrong\":");
    document.append(json_of(configuration)).append("},\"store\":");
    if (inspection) {
        document.append("{\"valid\":").append(inspection->wrong.empty() ? "true" : "false");
        for (auto const& [name, number] :
             {std::pair("users", inspection->report.users),
              std::pair("posts", inspection->report.posts),
              std::pair("keys", inspection->report.keys),
              std::pair("audit_entries", inspection->report.audit_entries)}) {
            document.append(",\"").append(name).append("\":");
            api::append_number(document, number);
        }
        document.append(",\"wrong\":");
        append_list(document, inspection->wrong);
        if (!inspection->wrong.empty()) {
            document.append(",\"advice\":");
            api::append_string(document, inspection->advice);
        }
        document.append("}");
    } else {
        document.append("null");
    }
    std::printf("%s}\n", document.c_str());
}

int check(check_options const& options) {
    for (auto const& sentence : unknown_variables()) base::log(base::severity::warning, sentence);
    auto const [settings, faults, code] = options.settings.examine(true);
    if (code != done) {
        for (auto const& each : faults) base::log(base::severity::failure, sentence_of(each));
        if (options.json) print_document(faults, std::nullopt);
        return code;
    }
    if (!options.json) base::log("the configuration is valid");
    std::optional<store_findings> inspection;
    bool const exists = ::access((settings.data + "/store.mdb").c_str(), F_OK) == 0;
    if (exists && !options.configuration_only) {
        if (auto const own = look_for_store(settings, store_access::reads); !own)
            return report_failure(own.error().message);
        inspection = findings_of(domain::inspect(settings.data, settings.store_master_key_file));
        for (auto const& sentence : inspection->wrong) base::log(base::severity::failure, sentence);
        if (!inspection->wrong.empty()) base::log("what to do: " + inspection->advice);
    }
    if (options.json) {
        print_document({}, inspection);
    } else if (!exists) {
        base::log("there is no store in " + settings.data + " yet: latchkey serve creates it");
    } else if (inspection && inspection->wrong.empty()) {
        auto const& report = inspection->report;
        base::log(
            "the store is intact: " + counted(report.users, "user") + ", " +
            counted(report.posts, "post") + ", " + counted(report.keys, "key") + ", " +
            counted(report.audit_entries, "entry of the audit log", "entries of the audit log"));
    }
    return inspection && !inspection->wrong.empty() ? failed : done;
}

}  // namespace

void add_check(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand(
        "check", "Check the configuration and every record, index and counter of the store");
    auto const options = std::make_shared<check_options>();
    options->settings.add_to(*command);
    command->add_flag("--json", options->json, "Print one JSON document instead of text");
    command->add_flag("--configuration-only", options->configuration_only,
                      "Do not check the store");
    command->footer(
        "Prints what is wrong and what to do. Works beside a running service; a large store takes\n"
        "some time, during which its file may grow.\n"
        "Exit codes: 0 valid, 1 the store is damaged or its master key is another one,\n"
        "78 the configuration is wrong.\n"
        "Example: latchkey check --config /etc/latchkey.toml");
    command->callback([options, &code] { code = check(*options); });
}

}  // namespace latchkey::cli
