// latchkey import: loads users and posts from files, with the validation of the API.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/frame/json/json_writer.hpp"
#include "api/posts/post_body.hpp"
#include "api/users/user_body.hpp"
#include "base/hash.hpp"
#include "base/system/log.hpp"
#include "cli/data/bad_lines.hpp"
#include "cli/data/data.hpp"
#include "cli/data/load.hpp"
#include "cli/files/line_file.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/standard_output.hpp"
#include "cli/frame/store_command.hpp"
#include "cli/keys/keys_import.hpp"
#include "domain/admin/check_consistency.hpp"

namespace latchkey::cli {
namespace {

struct import_options : store_command {
    std::string users, posts, report;
    bool quiet = false, again = false;
};

class importer {
  public:
    importer(import_options const& options, line_file users, std::optional<line_file> posts)
        : options_(options), users_(std::move(users)), posts_(std::move(posts)) {}

    // Opens the report, then begins or resumes the load: one whose report is refused has not begun.
    base::result<domain::bulk_load> begin(store::environment& store);
    base::result<void> run(domain::bulk_load& load);
    base::result<void> summarise(domain::bulk_load const& load);
    bool is_repeated() const { return finished_before_ != 0; }

  private:
    base::result<void> open_report(bool resumes);
    template <class Record, class Read>
    bool take_line(line_file& file, batch<Record>& target, Read read, progress& bar);

    import_options const& options_;
    line_file users_;
    std::optional<line_file> posts_;
    bad_lines report_;
    base::wall_ms now_ = 0;              // store time at the start
    base::wall_ms finished_before_ = 0;  // by an earlier run; 0: by none
};

// The load's identity is the content of the files, not their names.
base::result<domain::bulk_load> importer::begin(store::environment& store) {
    now_ = store.time();
    auto const users = users_.scan();
    if (!users) return users.error();
    auto const posts = posts_ ? posts_->scan() : line_file::scan_result{};
    if (!posts) return posts.error();
    auto const sizes = base::mix(users_.size(), posts_ ? posts_->size() : 0);
    auto const identity = base::mix(base::mix(users->hash, posts->hash), sizes);
    bool const continues = !options_.again && domain::bulk_load::was_begun(store, identity);
    if (!continues)
        if (auto const outcome = open_report(false); !outcome) return outcome.error();
    auto load = domain::bulk_load::begin(store, {.identity = identity,
                                                 .highest_user = users->highest_id,
                                                 .highest_post = posts->highest_id,
                                                 .again = options_.again});
    if (!load) return load;
    finished_before_ = load->finished_at();
    if (continues && finished_before_ == 0)
        if (auto const outcome = open_report(true); !outcome) return outcome.error();
    return load;
}

base::result<void> importer::open_report(bool resumes) {
    auto report = bad_lines::begin(options_.report, !options_.json, resumes);
    if (!report) return report.error();
    report_ = std::move(*report);
    return {};
}

std::size_t text_bytes(model::user const& user) {
    return user.name.size() + user.email.size();
}
std::size_t text_bytes(model::post const& post) {
    return post.title.size() + post.body.size();
}

template <class Record, class Read>
bool importer::take_line(line_file& file, batch<Record>& target, Read read, progress& bar) {
    auto const line = file.next();
    if (!line) return false;
    target.step.offset = file.offset();
    auto const number = ++target.step.line;
    if (line->find_first_not_of(" \t\r") == line->npos && !file.too_long()) return true;
    auto record = file.too_long() ? api::line_error{{}, "it is too long", 0} : read(*line, now_);
    if (record) {
        auto const bytes = text_bytes(*record);
        target.add(std::move(*record), number, bytes);
        return true;
    }
    auto const& error = record.error();
    ++target.step.refusals;
    if (std::same_as<Record, model::user> && error.id != 0)
        target.step.refused_users.push_back(error.id);
    auto const code =
        error.faults.empty() ? base::problem::invalid_json : base::problem::validation_failed;
    report_.add(file.path(), number, code, error.detail, error.faults, bar);
    return true;
}

base::result<void> importer::run(domain::bulk_load& load) {
    auto const form = progress::choose_form(options_.json, options_.quiet);
    auto const load_file = [&](line_file& file, char const* title, auto const& initial, auto read,
                               auto load_records) -> base::result<void> {
        if (auto const outcome = file.seek(initial.offset); !outcome) return outcome.error();
        progress bar(title, file.size(), form, initial.offset);
        auto const loaded = load_records(
            load, [&](auto& target) { return take_line(file, target, read, bar); },
            [&](std::uint64_t line, domain::load_refusal const& refusal) {
                bool const is_fault = refusal.problem == base::problem::validation_failed;
                report_.add(
                    file.path(), line, refusal.problem, is_fault ? "" : refusal.fault.detail,
                    is_fault ? std::vector{refusal.fault} : std::vector<base::fault>(), bar);
            },
            bar);
        if (loaded && file.failure()) return *file.failure();
        return loaded;
    };
    auto const users = load_file(users_, "users", load.users(), api::read_user_line,
                                 [](auto&&... arguments) { return load_users(arguments...); });
    if (!users || !posts_) return users;
    return load_file(*posts_, "posts", load.posts(), api::read_post_line,
                     [](auto&&... arguments) { return load_posts(arguments...); });
}

base::result<void> importer::summarise(domain::bulk_load const& load) {
    auto const reported = report_.end();
    bool const was_finished = finished_before_ != 0;
    if (!options_.json) {
        base::log(was_finished ? "nothing was made: these files were imported " +
                                     format_time(finished_before_, "") +
                                     "; use --again to import them once more"
                               : summary_of(load));
        return reported;
    }
    note_outcome(std::string(outcome_of_load));
    std::string document = "{";
    was_finished ? append_counts(document, {}, {})
                 : append_counts(document, load.users(), load.posts());
    document.append(",\"imported_before\":");
    api::append_timestamp_or_null(document, finished_before_);
    document.append(",\"complete\":").append(load.finished_at() != 0 ? "true" : "false");
    document.append(",\"resumed\":").append(load.was_begun_before() ? "true" : "false");
    document.append(",\"bad_lines\":[").append(report_.json()).append("]}\n");
    std::fputs(document.c_str(), stdout);
    return reported;
}

// If the store has only imported records, reads every record once more.
base::result<void> check_new_store(store::environment& store, domain::bulk_load const& load) {
    auto const [users, posts] = count_records(store);
    if (users != load.users().created || posts != load.posts().created) return {};
    auto const faults = domain::check_checksums(store);
    for (auto const& sentence : faults) base::log(base::severity::failure, sentence);
    if (faults.empty()) return {};
    return base::error{
        "the imported records are damaged on the disk: check the disk and the memory of this "
        "machine, then import into a new data directory"};
}

int import(import_options const& options) {
    if (options.users == "-" && options.posts == "-")
        return report_usage_error("only one of the files can be standard input");
    auto users = line_file::open(options.users);
    if (!users) return report_failure(users.error().message);
    std::optional<line_file> posts;
    if (!options.posts.empty()) {
        auto posts_file = line_file::open(options.posts);
        if (!posts_file) return report_failure(posts_file.error().message);
        posts.emplace(std::move(*posts_file));
    }
    int code = done;
    auto const store = open_store(options, code, store_access::makes);
    if (store == nullptr) return code;
    importer loader(options, std::move(*users), std::move(posts));
    auto load = loader.begin(*store);
    if (!load) return report_failure(load.error().message);
    bool const resumes = load->was_begun_before() && load->finished_at() == 0;
    if (resumes)
        base::log("resuming an interrupted import after line " + with_commas(load->users().line) +
                  " of the users and " + with_commas(load->posts().line) + " of the posts");
    handle_stop_signals();
    auto result = load->finished_at() != 0 ? base::result<void>() : loader.run(*load);
    if (result) result = load->finish();
    if (result) result = check_new_store(*store, *load);
    auto const reported = loader.summarise(*load);
    if (!result) return report_failure(result.error().message);
    if (!reported) return report_failure(reported.error().message);
    bool const is_whole =
        loader.is_repeated() || load->users().refusals + load->posts().refusals == 0;
    return is_whole ? done : failed;
}

// Options that belong to the other kind of import, as a sentence; empty: none.
std::string fault_of(import_options const& options, foreign_options const& keys) {
    if (keys.system.empty()) return keys.misplaced();
    if (!options.posts.empty())
        return "with --from there is one file, the export: '" + options.posts + "' is one too many";
    if (!options.report.empty() || options.again)
        return "--report and --again are for users and posts: with --from every key that is not "
               "taken over is named (--json lists them), and keys that are there already are left "
               "alone";
    return {};
}

}  // namespace

void add_import(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand(
        "import", "Load users and posts from files, with the validation of the API");
    auto const options = std::make_shared<import_options>();
    options->add_to(*command);
    auto const keys = std::make_shared<foreign_options>();
    keys->add_to(*command);
    command
        ->add_option("USERS", options->users,
                     "File with one user per line, as JSON; - is standard input, /dev/null none")
        ->required();
    command->add_option("POSTS", options->posts,
                        "File with one post per line, as JSON; - is standard input");
    command
        ->add_option(
            "--report", options->report,
            "Write the errors of every refused line to this file; a resumed import appends")
        ->type_name("FILE");
    command->add_flag("--again", options->again,
                      "Import the files even if they were imported before");
    command->add_flag("--quiet", options->quiet, "Show no progress");
    command->footer(
        "Reads the lines that latchkey export writes; id and times are optional:\n"
        "  {\"id\": 7, \"name\": \"Ada\", \"email\": \"ada@example.com\"}\n"
        "  {\"user_id\": 7, \"title\": \"Notes\", \"body\": \"…\", \"status\": \"published\"}\n"
        "A record keeps its id if that id was never used; otherwise it gets a new one, and\n"
        "posts of the same import refer to it. A user who is there already, with or without an\n"
        "id, is left alone, and so is a post with the same id. Works beside a running service.\n"
        "After an interruption run the same command again: it resumes. Invalid lines are\n"
        "reported by number, the others are imported, and the exit code is 1.\n"
        "With --from the file has keys of another system: latchkey keys import --help.\n"
        "Example: latchkey import users.ndjson posts.ndjson --data /var/lib/latchkey");
    command->callback([options, keys, &code] {
        if (auto const fault = fault_of(*options, *keys); !fault.empty())
            code = report_usage_error(fault);
        else
            code = keys->system.empty() ? import(*options)
                                        : import_keys(*options, options->users, *keys);
    });
}

}  // namespace latchkey::cli
