// keys import: takes over existing keys, of any form, by their SHA-256 digests. One JSON object per
// line; invalid lines are reported by number, and the others are imported. Or, with --from, the
// keys in an export of another system.
#include "cli/keys/keys_import.hpp"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>

#include "api/frame/json/json_writer.hpp"
#include "api/keys/key_body.hpp"
#include "base/bytes.hpp"
#include "base/system/log.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/scope_list.hpp"
#include "cli/frame/standard_output.hpp"
#include "cli/keys/keys.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct key_import_options : store_command {
    std::string file;
    foreign_options foreign;
};

constexpr std::size_t lines_per_transaction = 64;
constexpr std::size_t line_bytes_max = 64 * 1024;
constexpr std::size_t export_bytes_max = 256 * base::limits::mib;  // some 500,000 keys

// Reads and checks lines before a transaction begins, so that no transaction waits for input.
class key_importer {
  public:
    explicit key_importer(store::environment& target) : store_(target), now_(target.time()) {}

    // One line, which messages call by `title`.
    base::result<void> take(std::string const& title, std::string const& line);
    base::result<void> flush();

    std::size_t imported() const { return imported_; }
    std::size_t existing() const { return existing_; }
    // Title and reason of each line that was refused.
    std::vector<std::pair<std::string, std::string>> const& refusals() const { return refusals_; }

  private:
    bool exists(model::digest const& digest);

    store::environment& store_;
    base::wall_ms now_;
    std::vector<domain::command> commands_;
    std::vector<std::string> titles_;  // of each
    std::size_t imported_ = 0, existing_ = 0;
    std::vector<std::pair<std::string, std::string>> refusals_;
};

base::result<void> key_importer::take(std::string const& title, std::string const& line) {
    if (line.size() > line_bytes_max) {
        refusals_.emplace_back(title, "it is too long");
        return {};
    }
    api::key_defaults defaults{.now = now_};
    defaults.scopes.add(model::scope::users_read);
    defaults.scopes.add(model::scope::posts_read);
    auto record = api::read_import(line, defaults);
    if (!record) {
        refusals_.emplace_back(title, record.error().message);
        return {};
    }
    commands_.push_back({.action = domain::create_key{std::move(*record)}});
    titles_.push_back(title);
    return commands_.size() < lines_per_transaction ? base::result<void>() : flush();
}

bool key_importer::exists(model::digest const& digest) {
    domain::snapshot snapshot(store_);
    snapshot.renew();
    return snapshot.key_with_digest(digest).has_value();
}

base::result<void> key_importer::flush() {
    if (commands_.empty()) return {};
    std::vector<model::digest> digests;
    for (auto const& each : commands_)
        digests.push_back(std::get<domain::create_key>(each.action).record.digest);
    auto const outcomes = domain::apply(store_, std::move(commands_));
    commands_.clear();
    if (!outcomes) return outcomes.error();
    for (std::size_t i = 0; i < outcomes->size(); ++i) {
        auto const& each = (*outcomes)[i];
        if (each.problem == base::problem::none)
            ++imported_;
        else if (exists(digests[i]))
            ++existing_;
        else
            refusals_.emplace_back(
                titles_[i], each.faults.empty() ? message_of(each) : each.faults.front().detail);
    }
    titles_.clear();
    return {};
}

// The next line without its end, and of one that is too long the beginning, which is too long too.
bool read_line(std::istream& input, std::string& line) {
    line.resize(line_bytes_max + 2);
    input.getline(line.data(), static_cast<std::streamsize>(line.size()));
    auto const size = static_cast<std::size_t>(input.gcount());
    if (input.bad() || (input.fail() && size != line.size() - 1)) return false;
    bool const has_end = !input.eof() && !input.fail();
    line.resize(has_end ? size - 1 : size);
    if (!input.fail()) return true;
    input.clear();
    input.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    return true;
}

base::result<void> take_lines(key_importer& run, std::istream& input) {
    std::size_t number = 0;
    for (std::string line; read_line(input, line);) {
        ++number;
        if (line.find_first_not_of(" \t\r") == line.npos) continue;
        if (auto const outcome = run.take("line " + std::to_string(number), line); !outcome)
            return outcome;
    }
    if (input.bad()) return base::error{"the file cannot be read to its end"};
    return run.flush();
}

base::result<foreign_export> read_export(foreign_options const& options, std::istream& input) {
    auto const system = options.system == "unkey"  ? foreign_system::unkey
                        : options.system == "kong" ? foreign_system::kong
                                                   : foreign_system::apisix;
    // Freed memory is wiped (wipe_freed.cpp), that of a text that grows too.
    std::string text;
    for (char part[64 * 1024]; input && text.size() <= export_bytes_max;) {
        input.read(part, sizeof part);
        text.append(part, static_cast<std::size_t>(input.gcount()));
        base::wipe(part, static_cast<std::size_t>(input.gcount()));
    }
    if (input.bad()) return base::error{"the file cannot be read to its end"};
    if (text.size() > export_bytes_max)
        return base::error{"the export has more than 256 MiB: take it over in parts"};
    auto result = read_foreign_keys(system, text, options.choice);
    base::wipe(text.data(), text.size());
    return result;
}

base::result<void> take_export(key_importer& run, foreign_export const& source) {
    for (auto const& key : source.keys)
        if (auto const outcome = run.take(key.title, key.line); !outcome) return outcome;
    return run.flush();
}

void print_json(key_importer const& run, foreign_export const& source, bool is_foreign) {
    std::string document = "{\"imported\":" + std::to_string(run.imported()) +
                           ",\"existing\":" + std::to_string(run.existing()) + ",\"refused\":" +
                           std::to_string(run.refusals().size() + source.refusals);
    if (is_foreign) {
        auto remarks = source.remarks;
        for (auto const& [title, reason] : run.refusals()) remarks.push_back(title + ": " + reason);
        document += ",\"not_taken\":";
        api::append_array(document, remarks,
                          [&](std::string const& each) { api::append_string(document, each); });
    }
    std::printf("%s}\n", document.c_str());
}

}  // namespace

int import_keys(store_command const& options, std::string const& path,
                foreign_options const& foreign) {
    std::ifstream file;
    if (path != "-") file.open(path);
    if (path != "-" && !file) return report_failure("cannot open " + path);
    auto& input = path == "-" ? std::cin : file;
    bool const is_foreign = !foreign.system.empty();
    foreign_export source;
    if (is_foreign) {
        auto read = read_export(foreign, input);
        if (!read) return report_failure(path + ": " + read.error().message);
        source = std::move(*read);
    }
    int code = done;
    auto const store = open_store(options, code, store_access::makes);
    if (store == nullptr) return code;
    key_importer run(*store);
    auto const outcome = is_foreign ? take_export(run, source) : take_lines(run, input);
    for (auto const& sentence : source.remarks) base::log(base::severity::warning, sentence);
    for (auto const& [title, reason] : run.refusals())
        base::log(base::severity::warning, title + ": " + reason);
    auto const refusal_count = run.refusals().size() + source.refusals;
    note_outcome(
        "the keys that were imported are in the store: the same command again leaves "
        "them alone");
    if (options.json)
        print_json(run, source, is_foreign);
    else if (run.imported() == 0 && run.existing() != 0 && refusal_count == 0)
        base::log("nothing was made: " + counted(run.existing(), "key") +
                  (run.existing() == 1 ? " was" : " were") + " there already");
    else
        base::log(
            counted(run.imported(), "key") + " imported" +
            (run.existing() == 0 ? "" : ", " + counted(run.existing(), "key") + " there already") +
            ", " + counted(refusal_count, is_foreign ? "key" : "line") + " refused");
    if (!outcome) return report_failure(outcome.error().message);
    return refusal_count == 0 ? done : failed;
}

std::string foreign_options::misplaced() const {
    bool const has_choice =
        !choice.scopes.empty() || !choice.project.empty() || !choice.environment.empty();
    if (!system.empty() || !has_choice) return {};
    return "--scope, --project and --environment are for keys of another system (--from); a line "
           "of keys import has its own members for them";
}

void foreign_options::add_to(CLI::App& command) {
    command
        .add_option("--from", system,
                    "The file is an export of this system: unkey, kong or apisix, in JSON")
        ->check(CLI::IsMember({"unkey", "kong", "apisix"}));
    add_scopes(command, choice.scopes,
               "With --from: scopes of all these keys, with commas between them (default: "
               "users:read and posts:read)");
    command.add_option("--project", choice.project, "With --from: project of all these keys");
    command.add_option("--environment", choice.environment,
                       "With --from: development, staging or production");
}

void add_keys_import(CLI::App& keys, int& code) {
    auto* const command = keys.add_subcommand(
        "import",
        "Take over existing keys by their SHA-256 digests, or from Unkey, Kong or APISIX");
    auto const options = std::make_shared<key_import_options>();
    options->add_to(*command);
    options->foreign.add_to(*command);
    command
        ->add_option("FILE", options->file,
                     "File with one JSON object per line, or an export; - is standard input")
        ->required();
    command->footer(
        "A line: {\"sha256\": \"<64 hexadecimal digits>\", \"name\": \"shop\"}\n"
        "and any other member of a body of POST /keys; of a record for tokens \"kind\": \"jwt\",\n"
        "\"issuer\" and \"subject\" instead of \"sha256\". Invalid lines are reported by number,\n"
        "the others are imported, and the exit code is 1. The keys work with the next\n"
        "request. A key that is there already is left alone.\n"
        "With --from, digests and rate limits are taken over, plain keys are hashed at once,\n"
        "and what has no counterpart is named:\n"
        "  unkey   rows of its table keys, or bodies of its migrations (hash in base64)\n"
        "  kong    deck gateway dump --format json (keyauth_credentials, rate-limiting)\n"
        "  apisix  GET /apisix/admin/consumers (key-auth, limit-count)\n"
        "Example: latchkey keys import digests.ndjson");
    command->callback([options, &code] {
        auto const fault = options->foreign.misplaced();
        code = fault.empty() ? import_keys(*options, options->file, options->foreign)
                             : report_usage_error(fault);
    });
}

}  // namespace latchkey::cli
