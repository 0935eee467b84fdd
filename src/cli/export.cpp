// latchkey export: users and posts into files, as of one moment.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "api/resource.hpp"
#include "base/log.hpp"
#include "cli/keys.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "store/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct export_options : key_command {
    std::string users, posts;
    bool quiet = false, force = false;
};

constexpr std::uint32_t records_per_step = 10'000;

// All of one list, step by step in one snapshot. `walk(range, sink)` gives a part of it.
template <class Walk>
base::result<std::uint64_t> write_all(output_file& to, progress& shown, Walk walk) {
    std::uint64_t count = 0;
    std::string text;
    for (store::range part{.limit = records_per_step};;) {
        auto const listed = walk(part, [&](auto append, auto const& record) {
            append(text, record);
            text.push_back('\n');
            ++count;
        });
        if (auto const kept = to.write(text); !kept) return kept.error();
        text.clear();
        shown.at(count, count);
        if (!listed.has_more) break;
        part.after = listed.last;
    }
    shown.end(count, count);
    return count;
}

base::result<void> write_both(export_options const& options, store::environment& store,
                              output_file& users, output_file* posts, std::uint64_t (&counts)[2]) {
    store::snapshot seen(store);
    seen.renew();
    auto const form = progress::wanted(options.json, options.quiet);
    progress shown("users", seen.users({.limit = 0}, [](auto const&) {}).total, form);
    auto const written = write_all(users, shown, [&](store::range const& part, auto each) {
        return seen.users(part, [&](auto const& user) { each(api::append_user, user); });
    });
    if (!written) return written.error();
    counts[0] = *written;
    if (posts != nullptr) {
        progress then("posts", seen.posts({}, {.limit = 0}, [](auto const&) {}).total, form);
        auto const more = write_all(*posts, then, [&](store::range const& part, auto each) {
            return seen.posts({}, part, [&](auto const& post) { each(api::append_post, post); });
        });
        if (!more) return more.error();
        counts[1] = *more;
    }
    if (seen.damaged())
        return base::error{"some records cannot be read: latchkey check says which"};
    return {};
}

int export_all(export_options const& options) {
    if (options.users == "-" && options.posts == "-")
        return say_wrong("only one of users and posts can go to standard output");
    int code = done;
    auto const store = open_store(options, code, true);
    if (store == nullptr) return code;
    auto users = output_file::create(options.users, options.force);
    if (!users) return say_failed(users.error().message);
    std::optional<output_file> posts;
    if (!options.posts.empty()) {
        auto created = output_file::create(options.posts, options.force);
        if (!created) return say_failed(created.error().message);
        posts.emplace(std::move(*created));
    }
    std::uint64_t counts[2] = {};
    auto written = write_both(options, *store, *users, posts ? &*posts : nullptr, counts);
    if (written) written = users->finish();
    if (written && posts) written = posts->finish();
    if (!written) return say_failed(written.error().message);
    bool const to_output = options.users == "-" || options.posts == "-";
    if (!options.json)
        base::say(with_commas(counts[0]) + " users" +
                  (posts ? " and " + with_commas(counts[1]) + " posts" : "") + " exported");
    else if (!to_output)
        std::printf("{\"users\":%llu,\"posts\":%llu}\n", static_cast<unsigned long long>(counts[0]),
                    static_cast<unsigned long long>(counts[1]));
    return done;
}

}  // namespace

void add_export(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("export", "Write users and posts into files, as of one moment");
    auto const options = std::make_shared<export_options>();
    options->add_to(*command);
    command->add_option("USERS", options->users, "Where users go; - is standard output")
        ->required();
    command->add_option("POSTS", options->posts, "Where posts go");
    command->add_flag("--force", options->force, "Replace files that are there");
    command->add_flag("--quiet", options->quiet, "Show no progress");
    command->footer(
        "A JSON object on each line, as the API shows it, in the order of ids; import reads it.\n"
        "Works beside a running service, whose old pages stay in use as long as it takes: a slow\n"
        "reader of standard output makes the store's file grow.\n"
        "Example: latchkey export users.ndjson posts.ndjson --data /var/lib/latchkey");
    command->callback([options, &code] { code = export_all(*options); });
}

}  // namespace latchkey::cli
