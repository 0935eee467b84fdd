// latchkey seed: generates users and posts for trials and benchmarks.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/hash.hpp"
#include "base/system/log.hpp"
#include "cli/data/data.hpp"
#include "cli/data/load.hpp"
#include "cli/data/sample_data.hpp"
#include "cli/frame/confirm.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/standard_output.hpp"
#include "cli/frame/store_command.hpp"
#include "cli/frame/whole_number.hpp"

namespace latchkey::cli {
namespace {

// Far below the ends of ids, so that many runs have room, and far above what a disk holds.
constexpr std::uint64_t samples_max = 1'000'000'000;

struct seed_options : store_command {
    std::uint64_t users = 1000, posts = 1000, seed = 1;
    bool quiet = false, is_confirmed = false;
};

base::result<void> run(seed_options const& options, domain::bulk_load& load) {
    sample_data const samples(options.seed, options.users, options.posts);
    auto const form = progress::choose_form(options.json, options.quiet);
    auto const ignore_refusal = [](std::uint64_t, domain::load_refusal const&) {};
    auto const load_samples = [&](char const* title, std::uint64_t count, auto const& initial,
                                  auto make, auto load_records) {
        progress bar(title, count, form, initial.offset);
        auto const next = [&](auto& target) {
            if (target.step.offset >= count) return false;
            target.add(make(target.step.offset), ++target.step.line, 256);
            return ++target.step.offset < count;
        };
        return load_records(load, next, ignore_refusal, bar);
    };
    auto const users = load_samples(
        "users", options.users, load.users(),
        [&](std::uint64_t number) { return samples.user(number, load.first_user()); },
        [](auto&&... arguments) { return load_users(arguments...); });
    if (!users) return users;
    auto const posts = load_samples(
        "posts", options.posts, load.posts(),
        [&](std::uint64_t number) {
            return samples.post(number, load.first_post(), load.first_user());
        },
        [](auto&&... arguments) { return load_posts(arguments...); });
    if (!posts) return posts;
    return load.finish();
}

// Sample records among those of others are hard to find again. What an earlier run of the same
// command made is no reason to ask.
std::optional<int> confirm_records(store::environment& store, seed_options const& options,
                                   std::uint64_t identity) {
    if (options.is_confirmed || domain::bulk_load::was_begun(store, identity)) return std::nullopt;
    auto const [users, posts] = count_records(store);
    if (users + posts == 0) return std::nullopt;
    return confirm("this adds " + counted(options.users, "user") + " and " +
                       counted(options.posts, "post") + " to a store that has " +
                       counted(users, "user") + " and " + counted(posts, "post"),
                   false);
}

int seed(seed_options const& options) {
    if (options.posts != 0 && options.users == 0)
        return report_usage_error("--posts needs --users: every post belongs to a user");
    int code = done;
    auto const store = open_store(options, code, store_access::makes);
    if (store == nullptr) return code;
    auto const identity = base::mix(base::mix(options.users, options.posts),
                                    base::mix(options.seed, base::hash("latchkey seed")));
    if (auto const end = confirm_records(*store, options, identity)) return *end;
    auto load = domain::bulk_load::begin(
        *store, {.identity = identity, .new_users = options.users, .new_posts = options.posts});
    if (!load) return report_failure(load.error().message);
    if (load->finished_at() != 0)
        base::log("these records were created " + format_time(load->finished_at(), "") +
                  "; use another --random-seed for other records");
    handle_stop_signals();
    auto const result = load->finished_at() != 0 ? base::result<void>() : run(options, *load);
    note_outcome(std::string(outcome_of_load));
    if (options.json) {
        std::string document = "{";
        append_counts(document, load->users(), load->posts());
        std::printf("%s}\n", document.c_str());
    } else {
        base::log(summary_of(*load));
    }
    if (!result) return report_failure(result.error().message);
    return load->users().refusals + load->posts().refusals == 0 ? done : failed;
}

}  // namespace

void add_seed(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("seed", "Generate users and posts for trials and benchmarks");
    auto const options = std::make_shared<seed_options>();
    options->add_to(*command);
    take_number(command->add_option("--users", options->users, "Number of users"), 0, samples_max)
        ->capture_default_str();
    take_number(command->add_option("--posts", options->posts, "Number of posts"), 0, samples_max)
        ->capture_default_str();
    take_number(command->add_option("--random-seed", options->seed,
                                    "The same number gives the same records"),
                0, UINT64_MAX)
        ->capture_default_str();
    command->add_flag("--quiet", options->quiet, "Show no progress");
    add_confirmation(*command, options->is_confirmed);
    command->footer(
        "Addresses end in example.com, .net and .org. Works beside a running service. After an\n"
        "interruption run the same command again: it resumes. Asks first where the store has\n"
        "other records; without a terminal and without --yes the exit code is then 3.\n"
        "Example: latchkey seed --users 1000000 --posts 1000000 --data /var/lib/latchkey");
    command->callback([options, &code] { code = seed(*options); });
}

}  // namespace latchkey::cli
