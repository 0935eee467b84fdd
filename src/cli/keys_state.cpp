// keys rotate, deactivate, reactivate.
#include <algorithm>
#include <cstdio>

#include "api/key_json.hpp"
#include "auth/key_form.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "cli/keys.hpp"
#include "store/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct state_options : key_command {
    model::id id = 0;
    std::string overlap = "24h";
    std::string reason = "manual";
    std::string project;
};

constexpr std::int64_t overlap_seconds_max = 172'800;
constexpr std::size_t keys_per_transaction = 64;

int change(state_options const& options, store::command::kind what) {
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    auto const made = apply_one(*store, std::move(what));
    if (!made) return say_failed(made.error().message);
    print_key(*made, {}, options.json);
    return done;
}

int rotate(state_options const& options) {
    auto const overlap = base::parse_duration(options.overlap);
    if (!overlap || *overlap < 0 || *overlap > overlap_seconds_max)
        return say_wrong("--overlap must be 0 to 48h, such as 24h or 15m");
    int code = done;
    server::config configured;
    auto const store = open_store(options, code, false, &configured);
    if (store == nullptr) return code;
    auth::fresh_key const key(configured.keys_prefix);
    auto const text = key.text();
    auto const made = apply_one(
        *store, store::rotate_key{.id = options.id,
                                  .digest = auth::digest_of(text),
                                  .start = std::string(text.substr(0, api::key_start_bytes)),
                                  .last4 = std::string(text.substr(text.size() - 4)),
                                  .overlap_ms = *overlap * 1000});
    if (!made) return say_failed(made.error().message);
    print_key(*made, text, options.json);
    return done;
}

std::optional<model::deactivation> reason_of(std::string const& text) {
    if (text == "manual") return model::deactivation::manual;
    if (text == "compromised") return model::deactivation::compromised;
    return std::nullopt;
}

// The keys of the project that are still to be turned off.
std::vector<model::id> remaining(store::environment& store, std::string const& project,
                                 model::deactivation reason) {
    std::vector<model::id> ids;
    store::snapshot seen(store);
    seen.renew();
    auto const now = base::read_clocks().wall;
    store::range const all{.limit = UINT32_MAX};
    store::key_filter const which{.project = project};
    seen.keys(which, all, [&](model::key const& key, base::wall_ms) {
        auto const end = key.ending_at(now).reason;
        bool const off = reason == model::deactivation::manual ? end != model::deactivation::none
                                                               : end == reason;
        if (!off) ids.push_back(key.id);
    });
    return ids;
}

base::result<void> deactivate_all(store::environment& store, std::vector<model::id> const& ids,
                                  model::deactivation reason) {
    for (std::size_t begin = 0; begin < ids.size(); begin += keys_per_transaction) {
        std::vector<store::command> commands;
        for (auto i = begin; i < std::min(ids.size(), begin + keys_per_transaction); ++i)
            commands.push_back({.what = store::deactivate_key{ids[i], reason}});
        auto const outcomes = store::apply(store, std::move(commands));
        if (!outcomes) return outcomes.error();
        for (auto const& each : *outcomes)
            if (each.problem != base::problem::none) return base::error{sentence_of(each)};
    }
    return {};
}

// Until none is left: one of them may be making new ones meanwhile.
int deactivate_project(state_options const& options, model::deactivation reason) {
    if (!model::is_project(options.project))
        return say_wrong("--project must be 1 to 64 of a-z, 0-9 and -");
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    std::size_t count = 0;
    for (auto ids = remaining(*store, options.project, reason); !ids.empty();
         ids = remaining(*store, options.project, reason)) {
        if (auto const all = deactivate_all(*store, ids, reason); !all)
            return say_failed(all.error().message);
        count += ids.size();
    }
    if (options.json)
        std::printf("{\"project\":\"%s\",\"deactivated\":%zu}\n", options.project.c_str(), count);
    else
        base::say(std::to_string(count) + " keys of project " + options.project +
                  " are deactivated");
    return done;
}

int deactivate(state_options const& options) {
    auto const reason = reason_of(options.reason);
    if (!reason) return say_wrong("--reason must be manual or compromised");
    if (options.project.empty() == (options.id == 0))
        return say_wrong("say either the ID of a key or --project");
    if (!options.project.empty()) return deactivate_project(options, *reason);
    return change(options, store::deactivate_key{options.id, *reason});
}

std::shared_ptr<state_options> begin(CLI::App& command, bool needs_id) {
    auto const options = std::make_shared<state_options>();
    auto* const id = command.add_option("ID", options->id, "The key's id")
                         ->check(CLI::Range(model::id{1}, base::limits::id_max));
    if (needs_id) id->required();
    return options;
}

}  // namespace

void add_keys_state(CLI::App& keys, int& code) {
    auto* const rotated =
        keys.add_subcommand("rotate", "Make a successor of a key and show it, once");
    auto const how = begin(*rotated, true);
    how->add_to(*rotated, {"keys.prefix"});
    rotated->add_option("--overlap", how->overlap, "How long both keys work, 0 to 48h")
        ->capture_default_str();
    rotated->footer(
        "Until the overlap ends both keys work, so that clients can change over.\n"
        "Example: latchkey keys rotate 17 --overlap 24h");
    rotated->callback([how, &code] { code = rotate(*how); });

    auto* const off = keys.add_subcommand("deactivate", "Turn a key off, or all of a project");
    auto const which = begin(*off, false);
    which->add_to(*off);
    off->add_option("--reason", which->reason, "manual or compromised (which is for ever)")
        ->capture_default_str();
    off->add_option("--project", which->project, "All keys of this project, instead of one");
    off->footer(
        "It holds for every request that begins after this command has ended.\n"
        "Example: latchkey keys deactivate 17 --reason compromised");
    off->callback([which, &code] { code = deactivate(*which); });

    auto* const on = keys.add_subcommand("reactivate", "Turn a key on again");
    auto const again = begin(*on, true);
    again->add_to(*on);
    on->footer("Example: latchkey keys reactivate 17");
    on->callback([again, &code] { code = change(*again, store::reactivate_key{again->id}); });
}

}  // namespace latchkey::cli
