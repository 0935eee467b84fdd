// keys rotate, deactivate, reactivate.
#include <algorithm>
#include <cstdio>

#include "api/resources/key_json.hpp"
#include "auth/key_form.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "cli/keys.hpp"
#include "cli/print.hpp"
#include "cli/store_command.hpp"
#include "store/snapshot.hpp"

namespace latchkey::cli {
namespace {

struct state_options : store_command {
    model::id id = 0;
    std::string overlap = "24h";
    std::string reason = "manual";
    std::string project;
};

constexpr std::size_t keys_per_transaction = 64;

int apply_change(state_options const& options, store::command::any_action change) {
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    auto const outcome = apply_one(*store, std::move(change));
    if (!outcome) return report_failure(outcome.error().message);
    print_key(*outcome, {}, options.json);
    return done;
}

int rotate(state_options const& options) {
    auto const overlap = base::parse_duration(options.overlap);
    if (!overlap || *overlap < 0 || *overlap > base::limits::overlap_seconds_max)
        return report_usage_error("--overlap must be 0 to 48h, such as 24h or 15m");
    int code = done;
    server::config configuration;
    auto const store = open_store(options, code, store_access::writes, &configuration);
    if (store == nullptr) return code;
    auth::fresh_key const key(configuration.keys_prefix);
    auto const text = key.text();
    auto const outcome = apply_one(
        *store, store::rotate_key{.id = options.id,
                                  .digest = auth::digest_of(text),
                                  .start = std::string(text.substr(0, api::key_start_bytes)),
                                  .last4 = std::string(text.substr(text.size() - 4)),
                                  .overlap_ms = *overlap * 1000});
    if (!outcome) return report_failure(outcome.error().message);
    print_key(*outcome, text, options.json);
    return done;
}

std::optional<model::deactivation> reason_of(std::string const& text) {
    if (text == "manual") return model::deactivation::manual;
    if (text == "compromised") return model::deactivation::compromised;
    return std::nullopt;
}

// The keys of the project that are not yet deactivated. `damaged`: some records cannot be read, so
// there may be more.
std::vector<model::id> remaining_keys(store::environment& store, std::string const& project,
                                      model::deactivation reason, bool& damaged) {
    std::vector<model::id> ids;
    store::snapshot snapshot(store);
    snapshot.renew();
    auto const now = snapshot.time();
    store::range const all{.limit = UINT32_MAX};
    store::key_filter const filter{.project = project};
    snapshot.keys(filter, all, [&](model::key const& key, base::wall_ms) {
        auto const end = key.ending_at(now).reason;
        bool const is_off = reason == model::deactivation::manual ? end != model::deactivation::none
                                                                  : end == reason;
        if (!is_off) ids.push_back(key.id);
    });
    damaged = snapshot.damaged();
    return ids;
}

base::result<void> deactivate_all(store::environment& store, std::vector<model::id> const& ids,
                                  model::deactivation reason) {
    for (std::size_t begin = 0; begin < ids.size(); begin += keys_per_transaction) {
        std::vector<store::command> commands;
        for (auto i = begin; i < std::min(ids.size(), begin + keys_per_transaction); ++i)
            commands.push_back({.action = store::deactivate_key{ids[i], reason}});
        auto const outcomes = store::apply(store, std::move(commands));
        if (!outcomes) return outcomes.error();
        for (auto const& each : *outcomes)
            if (each.problem != base::problem::none) return base::error{message_of(each)};
    }
    return {};
}

// Repeats until none remains, since one of them may create new keys meanwhile.
int deactivate_project(state_options const& options, model::deactivation reason) {
    if (!model::is_project(options.project))
        return report_usage_error("--project must be 1 to 64 of a-z, 0-9 and -");
    int code = done;
    auto const store = open_store(options, code);
    if (store == nullptr) return code;
    std::size_t count = 0;
    bool damaged = false;
    for (auto ids = remaining_keys(*store, options.project, reason, damaged); !ids.empty();
         ids = remaining_keys(*store, options.project, reason, damaged)) {
        if (auto const all = deactivate_all(*store, ids, reason); !all)
            return report_failure(all.error().message);
        count += ids.size();
    }
    if (damaged) return report_damage();
    if (options.json)
        std::printf("{\"project\":\"%s\",\"deactivated\":%zu}\n", options.project.c_str(), count);
    else
        base::log(std::to_string(count) + " keys of project " + options.project +
                  " were deactivated");
    return done;
}

int deactivate(state_options const& options) {
    auto const reason = reason_of(options.reason);
    if (!reason) return report_usage_error("--reason must be manual or compromised");
    if (options.project.empty() == (options.id == 0))
        return report_usage_error("give either the ID of a key or --project");
    if (!options.project.empty()) return deactivate_project(options, *reason);
    return apply_change(options, store::deactivate_key{options.id, *reason});
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
    auto* const rotate_command =
        keys.add_subcommand("rotate", "Create a successor of a key and show it once");
    auto const rotate_options = begin(*rotate_command, true);
    rotate_options->add_to(*rotate_command, {"keys.prefix"});
    rotate_command
        ->add_option("--overlap", rotate_options->overlap, "How long both keys work, 0 to 48h")
        ->capture_default_str();
    rotate_command->footer(
        "Both keys work until the overlap ends: change the clients to the new key before that.\n"
        "Example: latchkey keys rotate 17 --overlap 24h");
    rotate_command->callback([rotate_options, &code] { code = rotate(*rotate_options); });

    auto* const deactivate_command =
        keys.add_subcommand("deactivate", "Deactivate a key, or all keys of a project");
    auto const deactivate_options = begin(*deactivate_command, false);
    deactivate_options->add_to(*deactivate_command);
    deactivate_command
        ->add_option("--reason", deactivate_options->reason,
                     "manual, or compromised (which cannot be undone)")
        ->capture_default_str();
    deactivate_command->add_option("--project", deactivate_options->project,
                                   "All keys of this project, instead of one");
    deactivate_command->footer(
        "Every request that begins after this command is refused. To undo it (if not "
        "compromised):\n"
        "latchkey keys reactivate.\n"
        "Example: latchkey keys deactivate 17 --reason compromised");
    deactivate_command->callback(
        [deactivate_options, &code] { code = deactivate(*deactivate_options); });

    auto* const reactivate_command =
        keys.add_subcommand("reactivate", "Activate a deactivated key again");
    auto const reactivate_options = begin(*reactivate_command, true);
    reactivate_options->add_to(*reactivate_command);
    reactivate_command->footer(
        "Works for keys that were deactivated with the reason manual.\n"
        "Example: latchkey keys reactivate 17");
    reactivate_command->callback([reactivate_options, &code] {
        code = apply_change(*reactivate_options, store::reactivate_key{reactivate_options->id});
    });
}

}  // namespace latchkey::cli
