// latchkey export: writes users and posts of one snapshot into files.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "api/resources/resource.hpp"
#include "base/log.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "cli/store_command.hpp"
#include "store/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct export_options : store_command {
    std::string users, posts;
    bool quiet = false, force = false;
};

constexpr std::uint32_t records_per_step = 10'000;

// Writes a whole list step by step in one snapshot. `walk(range, sink)` reads a part of it.
template <class Walk>
base::result<std::uint64_t> write_all(output_file& output, progress& bar, Walk walk) {
    std::uint64_t count = 0;
    std::string text;
    for (store::range part{.limit = records_per_step};;) {
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

base::result<void> write_both(export_options const& options, store::environment& store,
                              output_file& users, output_file* posts, std::uint64_t (&counts)[2]) {
    store::snapshot snapshot(store);
    snapshot.renew();
    auto const form = progress::choose_form(options.json, options.quiet);
    progress bar("users", snapshot.users({.limit = 0}, [](auto const&) {}).total, form);
    auto const outcome = write_all(users, bar, [&](store::range const& part, auto each) {
        return snapshot.users(part, [&](auto const& user) { each(api::append_user, user); });
    });
    if (!outcome) return outcome.error();
    counts[0] = *outcome;
    if (posts != nullptr) {
        progress posts_bar("posts", snapshot.posts({}, {.limit = 0}, [](auto const&) {}).total,
                           form);
        auto const posts_outcome =
            write_all(*posts, posts_bar, [&](store::range const& part, auto each) {
                return snapshot.posts({}, part,
                                      [&](auto const& post) { each(api::append_post, post); });
            });
        if (!posts_outcome) return posts_outcome.error();
        counts[1] = *posts_outcome;
    }
    return {};
}

int export_all(export_options const& options) {
    if (options.users == "-" && options.posts == "-")
        return report_usage_error("users and posts cannot both be written to standard output");
    int code = done;
    auto const store = open_store(options, code, store_access::copies);
    if (store == nullptr) return code;
    auto const policy = options.force ? existing_file::replaced : existing_file::kept_without_force;
    auto users = output_file::create(options.users, policy);
    if (!users) return report_failure(users.error().message);
    std::optional<output_file> posts;
    if (!options.posts.empty()) {
        auto created = output_file::create(options.posts, policy);
        if (!created) return report_failure(created.error().message);
        posts.emplace(std::move(*created));
    }
    std::uint64_t counts[2] = {};
    auto outcome = write_both(options, *store, *users, posts ? &*posts : nullptr, counts);
    if (outcome) outcome = users->finish();
    if (outcome && posts) outcome = posts->finish();
    if (!outcome) return report_failure(outcome.error().message);
    bool const to_output = options.users == "-" || options.posts == "-";
    auto const damaged = store->damaged_reads();
    if (!options.json)
        base::log(with_commas(counts[0]) + " users" +
                  (posts ? " and " + with_commas(counts[1]) + " posts" : "") + " exported");
    else if (!to_output)
        std::printf("{\"users\":%llu,\"posts\":%llu}\n", static_cast<unsigned long long>(counts[0]),
                    static_cast<unsigned long long>(counts[1]));
    // The files have all readable records: the use of an export from a damaged store.
    if (damaged != 0)
        return report_failure(
            "some records are damaged and are not in the files: run latchkey check, which names "
            "them");
    return done;
}

}  // namespace

void add_export(CLI::App& program, int& code) {
    auto* const command = program.add_subcommand(
        "export", "Write all users and posts into files, beside a running service");
    auto const options = std::make_shared<export_options>();
    options->add_to(*command);
    command->add_option("USERS", options->users, "File for users; - is standard output")
        ->required();
    command->add_option("POSTS", options->posts, "File for posts; - is standard output");
    command->add_flag("--force", options->force, "Replace existing files");
    command->add_flag("--quiet", options->quiet, "Show no progress");
    command->footer(
        "Writes one JSON object per line, in the form of the API, ordered by id, from one\n"
        "consistent snapshot. While it runs, the service cannot reuse freed pages, so a slow\n"
        "reader of standard output makes the store's file grow. To load the files: latchkey\n"
        "import.\n"
        "Example: latchkey export users.ndjson posts.ndjson --data /var/lib/latchkey");
    command->callback([options, &code] { code = export_all(*options); });
}

}  // namespace latchkey::cli
