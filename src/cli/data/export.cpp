// latchkey export: writes users, posts and changes of one snapshot into files.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "api/frame/change_json.hpp"
#include "api/posts/post_json.hpp"
#include "api/users/user_json.hpp"
#include "base/function_ref.hpp"
#include "base/system/log.hpp"
#include "cli/data/data.hpp"
#include "cli/files/output_file.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/progress.hpp"
#include "cli/frame/standard_output.hpp"
#include "cli/frame/store_command.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct export_options : store_command {
    std::string users, posts, changes;
    bool quiet = false, force = false;
};

constexpr std::uint32_t records_per_step = 10'000;

// Writes a whole list step by step in one snapshot. `walk(range, sink)` reads a part of it.
template <class Walk>
base::result<std::uint64_t> write_all(output_file& output, progress& bar, Walk walk) {
    std::uint64_t count = 0;
    std::string text;
    for (domain::range part{.limit = records_per_step};;) {
        auto const listed = walk(part, [&](auto append, auto const& record) {
            append(text, record);
            text.push_back('\n');
            ++count;
        });
        if (auto const outcome = output.write(text); !outcome) return outcome.error();
        text.clear();
        bar.update(count, count);
        if (!listed.has_more) break;
        part.after_id = listed.last;
    }
    bar.end(count, count);
    return count;
}

// A file that may be asked for, and how many records it got.
struct export_file {
    std::optional<output_file> output;
    std::uint64_t count = 0;

    base::result<void> create(std::string const& path, existing_file policy) {
        if (path.empty()) return {};
        auto created = output_file::create(path, policy);
        if (!created) return created.error();
        output.emplace(std::move(*created));
        return {};
    }
    base::result<void> finish() { return output ? output->finish() : base::result<void>(); }
};
struct export_files {
    export_file users, posts, changes;
};

// An unreadable change ends a visit: the next part begins after it.
domain::list_result walk_changes(domain::snapshot const& snapshot, domain::range const& part,
                                 base::function_ref<void(domain::change_view const&)> each) {
    domain::list_result listed;
    std::uint32_t count = 0;
    snapshot.changes_after(part.after_id, [&](domain::change_view const& change) {
        if (count++ == part.limit) return false;
        listed.last = change.sequence;
        each(change);
        return true;
    });
    if (listed.last == 0) listed.last = part.after_id + 1;
    listed.has_more = listed.last < snapshot.changes().last;
    return listed;
}

base::result<void> write_files(export_options const& options, store::environment& store,
                               export_files& files) {
    domain::snapshot snapshot(store);
    snapshot.renew();
    auto const form = progress::choose_form(options.json, options.quiet);
    auto const write = [&](export_file& file, char const* title, std::uint64_t total, auto walk) {
        if (!file.output) return base::result<void>();
        progress bar(title, total, form);
        auto const count = write_all(*file.output, bar, walk);
        if (!count) return base::result<void>(count.error());
        file.count = *count;
        return base::result<void>();
    };
    auto outcome = write(
        files.users, "users", snapshot.users({.limit = 0}, [](auto const&) {}).total,
        [&](domain::range const& part, auto each) {
            return snapshot.users(part, [&](auto const& user) { each(api::append_user, user); });
        });
    if (!outcome) return outcome;
    outcome =
        write(files.posts, "posts", snapshot.posts({}, {.limit = 0}, [](auto const&) {}).total,
              [&](domain::range const& part, auto each) {
                  return snapshot.posts({}, part,
                                        [&](auto const& post) { each(api::append_post, post); });
              });
    if (!outcome) return outcome;
    auto const bounds = snapshot.changes();
    auto const retained_count = bounds.last == 0 ? 0 : bounds.last - bounds.oldest + 1;
    return write(files.changes, "changes", static_cast<std::uint64_t>(retained_count),
                 [&](domain::range const& part, auto each) {
                     return walk_changes(snapshot, part, [&](domain::change_view const& change) {
                         each(api::append_change, change);
                     });
                 });
}

void report_counts(export_options const& options, export_files const& files) {
    bool const to_output = options.users == "-" || options.posts == "-" || options.changes == "-";
    if (options.json && to_output) return;
    std::string text, document;
    auto const add = [&](export_file const& file, std::string const& noun) {
        if (!file.output) return;
        text += (text.empty() ? "" : ", ") + counted(file.count, noun);
        document += (document.empty() ? "{\"" : ",\"") + noun + "s\":" + std::to_string(file.count);
    };
    add(files.users, "user");
    add(files.posts, "post");
    add(files.changes, "change");
    if (options.json)
        std::printf("%s}\n", document.c_str());
    else
        base::log(text + " exported");
}

// A file that is there, in the data directory: the store, a key, a certificate.
bool is_of_store(std::string const& path, std::string const& data) {
    std::error_code none;
    if (path.empty() || path == "-" || !std::filesystem::exists(path, none)) return false;
    auto const folder = std::filesystem::canonical(path, none).parent_path();
    auto const root = std::filesystem::canonical(data, none);
    return std::ranges::mismatch(root, folder).in1 == root.end();
}

int export_all(export_options const& options) {
    if ((options.users == "-") + (options.posts == "-") + (options.changes == "-") > 1)
        return report_usage_error("only one file can be written to standard output");
    int code = done;
    server::config configuration;
    auto const store = open_store(options, code, store_access::copies, &configuration);
    if (store == nullptr) return code;
    for (auto const* const path : {&options.users, &options.posts, &options.changes})
        if (is_of_store(*path, configuration.data))
            return report_failure(*path +
                                  " is a file of the data directory: name one outside of it");
    auto const policy = options.force ? existing_file::replaced : existing_file::kept_without_force;
    export_files files;
    auto outcome = files.users.create(options.users, policy);
    if (outcome) outcome = files.posts.create(options.posts, policy);
    if (outcome) outcome = files.changes.create(options.changes, policy);
    if (outcome) outcome = write_files(options, *store, files);
    for (auto* const file : {&files.users, &files.posts, &files.changes})
        if (outcome) outcome = file->finish();
    if (!outcome) return report_failure(outcome.error().message);
    note_outcome("the files were written");
    report_counts(options, files);
    // The files have all readable records: the use of an export from a damaged store.
    if (store->damaged_reads() != 0)
        return report_failure(
            "some records are damaged and are not in the files: run latchkey check, which names "
            "them");
    return done;
}

}  // namespace

void add_export(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand(
        "export", "Write all users, posts and changes into files, beside a running service");
    auto const options = std::make_shared<export_options>();
    options->add_to(*command);
    command->add_option("USERS", options->users, "File for users; - is standard output")
        ->required();
    command->add_option("POSTS", options->posts, "File for posts; - is standard output");
    command->add_option("--changes", options->changes,
                        "File for what has happened, as far as it is kept; - is standard output");
    command->add_flag("--force", options->force, "Replace existing files");
    command->add_flag("--quiet", options->quiet, "Show no progress");
    command->footer(
        "Writes one JSON object per line, in the form of the API, ordered by id, from one\n"
        "consistent snapshot. While it runs, the service cannot reuse freed pages, so a slow\n"
        "reader of standard output makes the store's file grow. To load the files: latchkey\n"
        "import, which does not take changes.\n"
        "Example: latchkey export users.ndjson posts.ndjson --data /var/lib/latchkey");
    command->callback([options, &code] { code = export_all(*options); });
}

}  // namespace latchkey::cli
