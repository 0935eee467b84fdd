// latchkey import: users and posts from files, by the rules of the API.
#include <cstdio>

#include "api/resource_body.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "cli/bad_lines.hpp"
#include "cli/keys.hpp"
#include "cli/line_file.hpp"
#include "cli/load.hpp"

namespace latchkey::cli {
namespace {

struct import_options : key_command {
    std::string users, posts, report;
    bool quiet = false, again = false;
};

class importer {
  public:
    importer(import_options const& options, line_file users, std::optional<line_file> posts)
        : options_(options), users_(std::move(users)), posts_(std::move(posts)) {}

    base::result<store::bulk_load> begin(store::environment& store);
    void tell(bad_lines where) { told_ = std::move(where); }
    base::result<void> run(store::bulk_load& load);
    void summarise(store::bulk_load const& load);

  private:
    template <class Record, class Read>
    bool take_line(line_file& from, batch<Record>& to, Read read, progress& shown);
    refusal_sink refusals_of(line_file const& file, progress& shown);

    import_options const& options_;
    line_file users_;
    std::optional<line_file> posts_;
    bad_lines told_;
    base::wall_ms now_ = base::read_clocks().wall;
};

// The files' contents are the load's identity, whatever they are called.
base::result<store::bulk_load> importer::begin(store::environment& store) {
    auto const users = users_.look_over();
    if (!users) return users.error();
    auto const posts = posts_ ? posts_->look_over() : line_file::survey{};
    if (!posts) return posts.error();
    auto const sizes = base::mix(users_.size(), posts_ ? posts_->size() : 0);
    return store::bulk_load::begin(
        store, {.identity = base::mix(base::mix(users->hash, posts->hash), sizes),
                .highest_user = users->highest_id,
                .highest_post = posts->highest_id,
                .again = options_.again});
}

std::size_t text_bytes(model::user const& of) {
    return of.name.size() + of.email.size();
}
std::size_t text_bytes(model::post const& of) {
    return of.title.size() + of.body.size();
}

template <class Record, class Read>
bool importer::take_line(line_file& from, batch<Record>& to, Read read, progress& shown) {
    auto const line = from.next();
    if (!line) return false;
    to.step.offset = from.offset();
    auto const number = ++to.step.line;
    if (line->find_first_not_of(" \t\r") == line->npos && !from.too_long()) return true;
    auto record = from.too_long() ? api::line_trouble{{}, "it is too long", 0} : read(*line, now_);
    if (record) {
        auto const bytes = text_bytes(*record);
        to.add(std::move(*record), number, bytes);
        return true;
    }
    auto const& wrong = record.error();
    ++to.step.refused;
    if (std::same_as<Record, model::user> && wrong.id != 0)
        to.step.refused_users.push_back(wrong.id);
    told_.add(from.path(), number, wrong.detail, wrong.faults, shown);
    return true;
}

base::result<void> importer::run(store::bulk_load& load) {
    auto const form = progress::wanted(options_.json, options_.quiet);
    auto const load_file = [&](line_file& file, char const* what, auto const& done, auto read,
                               auto load_records) -> base::result<void> {
        if (auto const there = file.go_to(done.offset); !there) return there.error();
        progress shown(what, file.size(), form, done.offset);
        auto const loaded = load_records(
            load, [&](auto& to) { return take_line(file, to, read, shown); },
            [&](std::uint64_t line, store::load_refusal const& why) {
                told_.add(file.path(), line, "", {why.fault}, shown);
            },
            shown);
        if (loaded && file.failure()) return *file.failure();
        return loaded;
    };
    auto const users = load_file(users_, "users", load.users(), api::read_user_line,
                                 [](auto&&... all) { return load_users(all...); });
    if (!users || !posts_) return users;
    return load_file(*posts_, "posts", load.posts(), api::read_post_line,
                     [](auto&&... all) { return load_posts(all...); });
}

void importer::summarise(store::bulk_load const& load) {
    told_.end();
    if (!options_.json) return base::say(sentence_of(load));
    std::string document = "{";
    append_counts(document, load);
    document.append(",\"complete\":").append(load.finished_at() != 0 ? "true" : "false");
    document.append(",\"resumed\":").append(load.was_begun_before() ? "true" : "false");
    document.append(",\"bad_lines\":[").append(told_.json()).append("]}\n");
    std::fputs(document.c_str(), stdout);
}

int import(import_options const& options) {
    auto users = line_file::open(options.users);
    if (!users) return say_failed(users.error().message);
    std::optional<line_file> posts;
    if (!options.posts.empty()) {
        auto opened = line_file::open(options.posts);
        if (!opened) return say_failed(opened.error().message);
        posts.emplace(std::move(*opened));
    }
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    importer all(options, std::move(*users), std::move(posts));
    auto load = all.begin(*store);
    if (!load) return say_failed(load.error().message);
    bool const goes_on = load->was_begun_before() && load->finished_at() == 0;
    if (load->finished_at() == 0) {
        auto told = bad_lines::begin(options.report, !options.json, goes_on);
        if (!told) return say_failed(told.error().message);
        all.tell(std::move(*told));
    }
    if (load->finished_at() != 0)
        base::say("these files were imported " + shown_time(load->finished_at(), "") +
                  "; --again imports them once more");
    else if (load->was_begun_before())
        base::say("going on with an import that was cut short behind line " +
                  with_commas(load->users().line) + " of the users and " +
                  with_commas(load->posts().line) + " of the posts");
    stop_in_order();
    auto result = load->finished_at() != 0 ? base::result<void>() : all.run(*load);
    if (result) result = load->finish();
    all.summarise(*load);
    if (!result) return say_failed(result.error().message);
    return load->users().refused + load->posts().refused == 0 ? done : failed;
}

}  // namespace

void add_import(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand(
        "import", "Load users and posts from files, by the rules of the API");
    auto const options = std::make_shared<import_options>();
    options->add_to(*command);
    command->add_option("USERS", options->users, "A user on each line, as JSON; /dev/null for none")
        ->required();
    command->add_option("POSTS", options->posts, "A post on each line, as JSON");
    command
        ->add_option("--report", options->report,
                     "Write every refused line's faults here; an import that goes on adds to it")
        ->type_name("FILE");
    command->add_flag("--again", options->again, "Also if these very files were imported before");
    command->add_flag("--quiet", options->quiet, "Show no progress");
    command->footer(
        "Lines are what export writes; id and times may be left out:\n"
        "  {\"id\": 7, \"name\": \"Ada\", \"email\": \"ada@example.com\"}\n"
        "  {\"user_id\": 7, \"title\": \"Notes\", \"body\": \"…\", \"status\": \"published\"}\n"
        "An id is kept when nobody ever had it; otherwise the user gets another one, and the\n"
        "posts of the same import follow. Works beside a running service. When it is\n"
        "interrupted, the same command goes on where it was. Wrong lines are reported by number\n"
        "and the others kept; the exit code is 1 then.\n"
        "Example: latchkey import users.ndjson posts.ndjson --data /var/lib/latchkey");
    command->callback([options, &code] { code = import(*options); });
}

}  // namespace latchkey::cli
