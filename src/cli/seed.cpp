// latchkey seed: made-up users and posts, for trials and benchmarks.
#include <cstdio>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "cli/keys.hpp"
#include "cli/load.hpp"
#include "cli/made_up.hpp"

namespace latchkey::cli {
namespace {

struct seed_options : key_command {
    std::uint64_t users = 1000, posts = 1000, seed = 1;
    bool quiet = false;
};

base::result<void> run(seed_options const& options, store::bulk_load& load) {
    made_up const made(options.seed, options.users, options.posts);
    auto const form = progress::wanted(options.json, options.quiet);
    auto const nobody_minds = [](std::uint64_t, store::load_refusal const&) {};
    auto const load_made = [&](char const* what, std::uint64_t count, auto const& done, auto make,
                               auto load_records) {
        progress shown(what, count, form, done.offset);
        auto const next = [&](auto& to) {
            if (to.step.offset >= count) return false;
            to.add(make(to.step.offset), ++to.step.line, 256);
            return ++to.step.offset < count;
        };
        return load_records(load, next, nobody_minds, shown);
    };
    auto const users = load_made(
        "users", options.users, load.users(),
        [&](std::uint64_t number) { return made.user(number, load.first_user()); },
        [](auto&&... all) { return load_users(all...); });
    if (!users) return users;
    auto const posts = load_made(
        "posts", options.posts, load.posts(),
        [&](std::uint64_t number) {
            return made.post(number, load.first_post(), load.first_user());
        },
        [](auto&&... all) { return load_posts(all...); });
    if (!posts) return posts;
    return load.finish();
}

int seed(seed_options const& options) {
    if (options.posts != 0 && options.users == 0)
        return say_wrong("--posts needs --users: a post belongs to somebody");
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    auto const identity = base::mix(base::mix(options.users, options.posts),
                                    base::mix(options.seed, base::hash("latchkey seed")));
    auto load = store::bulk_load::begin(
        *store, {.identity = identity, .new_users = options.users, .new_posts = options.posts});
    if (!load) return say_failed(load.error().message);
    if (load->finished_at() != 0)
        base::say("these were made " + shown_time(load->finished_at(), "") +
                  "; another --random-seed makes others");
    stop_in_order();
    auto const result = load->finished_at() != 0 ? base::result<void>() : run(options, *load);
    if (options.json) {
        std::string document = "{";
        append_counts(document, *load);
        std::printf("%s}\n", document.c_str());
    } else {
        base::say(sentence_of(*load));
    }
    if (!result) return say_failed(result.error().message);
    return load->users().refused + load->posts().refused == 0 ? done : failed;
}

}  // namespace

void add_seed(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("seed", "Make up users and posts, for trials and benchmarks");
    auto const options = std::make_shared<seed_options>();
    options->add_to(*command);
    command->add_option("--users", options->users, "How many users")->capture_default_str();
    command->add_option("--posts", options->posts, "How many posts")->capture_default_str();
    command->add_option("--random-seed", options->seed, "The same number makes the same records")
        ->capture_default_str();
    command->add_flag("--quiet", options->quiet, "Show no progress");
    command->footer(
        "Addresses end in example.com, .net and .org. Works beside a running service; when it is\n"
        "interrupted, the same command goes on where it was.\n"
        "Example: latchkey seed --users 1000000 --posts 1000000 --data /var/lib/latchkey");
    command->callback([options, &code] { code = seed(*options); });
}

}  // namespace latchkey::cli
