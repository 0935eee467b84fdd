// keys rotate, deactivate, reactivate.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdio>

#include "api/frame/json/effective_time.hpp"
#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "cli/frame/confirm.hpp"
#include "cli/frame/key_text.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/progress.hpp"
#include "cli/frame/standard_output.hpp"
#include "cli/frame/whole_number.hpp"
#include "cli/keys/keys.hpp"
#include "cli/keys/keys_backend.hpp"
#include "cli/keys/managing_keys.hpp"
#include "model/key.hpp"

namespace latchkey::cli {
namespace {

struct state_options : api_command {
    model::id id = 0;
    std::string overlap = "24h";
    std::string reason = "manual";
    std::string project;
    bool is_confirmed = false;
};

int rotate(state_options const& options) {
    auto const overlap = base::parse_duration(options.overlap);
    if (!overlap || *overlap < 0 || *overlap > base::limits::overlap_seconds_max)
        return report_usage_error("--overlap must be 0 to 48h, such as 24h or 15m");
    int code = done;
    auto const keys = open_keys(options, code);
    if (keys == nullptr) return code;
    auto const document = keys->rotate(options.id, *overlap);
    if (!document) return report(document.error());
    print_key(*document, options.json);
    return done;
}

// The keys of the project that are not yet deactivated for that reason.
std::optional<refusal> find_remaining(keys_backend& keys, state_options const& options,
                                      std::vector<model::id>& ids) {
    ids.clear();
    return keys.each(
        {.project = options.project, .state = {}, .environment = {}}, [&](std::string_view text) {
            auto const key = parse_object(text).value();
            auto const end = text_of(key, "deactivation_reason");
            bool const is_off = options.reason == "manual" ? !end.empty() : end == options.reason;
            if (!is_off) ids.push_back(number_of(key, "id"));
        });
}

// Round by round until none remains, since one of the keys may create new ones meanwhile. The key
// to ask with comes last: after it nothing can be asked.
std::optional<refusal> deactivate_rounds(keys_backend& keys, state_options const& options,
                                         std::vector<model::id> ids, deactivations& total) {
    auto const own = keys.own_id();
    if (!own) return own.error();
    for (;;) {
        bool const has_own = std::erase(ids, *own) != 0;
        if (ids.empty())
            return has_own ? keys.deactivate_all({*own}, options.reason, total) : std::nullopt;
        if (auto const failure = keys.deactivate_all(ids, options.reason, total)) return failure;
        if (auto const failure = find_remaining(keys, options, ids)) return failure;
    }
}

std::string describe(state_options const& options, deactivations const& total) {
    auto document = R"({"project":")" + options.project + R"(","deactivated":)" +
                    std::to_string(total.count) + "}";
    if (total.effective_by != 0)
        api::append_effective_time(document, total.effective_by, total.effective_in);
    return document;
}

int deactivate_project(state_options const& options) {
    if (!model::is_project(options.project))
        return report_usage_error("--project must be 1 to 64 of a-z, 0-9 and -");
    int code = done;
    auto const keys = open_keys(options, code);
    if (keys == nullptr) return code;
    std::vector<model::id> ids;
    if (auto const failure = find_remaining(*keys, options, ids)) return report(*failure);
    auto const all_keys = counted(ids.size(), "key") + " of project " + options.project;
    if (ids.size() > 1)
        if (auto const end = confirm("this deactivates " + all_keys, options.is_confirmed))
            return *end;
    if (auto const failure = refuse_last_managing(*keys, ids, options.is_confirmed))
        return report(*failure);
    deactivations total;
    auto failure = deactivate_rounds(*keys, options, ids, total);
    auto const document = describe(options, total);
    note_outcome(counted(total.count, "key") + " of project " + options.project +
                 (total.count == 1 ? " was deactivated" : " were deactivated"));
    if (options.json)
        std::printf("%s\n", document.c_str());
    else if (!failure)
        base::log(counted(total.count, "key") + " of project " + options.project +
                  (total.count == 1 ? " was deactivated" : " were deactivated"));
    warn_of_delay(parse_object(document).value());
    if (!failure) return done;
    failure->message = with_commas(total.count) + " of " + all_keys +
                       " were deactivated, and then: " + failure->message +
                       ". The same command again deactivates the others";
    return report(*failure);
}

std::string join_ids(json_object const& created, std::string_view name) {
    std::string text;
    for (auto const& each : created.at(name).as_array())
        text.append(text.empty() ? "" : ", ").append(std::to_string(each.as_int64()));
    return text;
}

// Lists the keys and webhooks that a compromised key created.
void tell_created(std::string const& document) {
    auto const key = parse_object(document).value();
    auto const* const value = key.if_contains("created");
    if (value == nullptr) return;
    auto const& created = value->as_object();
    if (auto const ids = join_ids(created, "keys"); !ids.empty())
        base::log(base::severity::warning, "it created keys that still work: " + ids);
    if (auto const ids = join_ids(created, "webhooks"); !ids.empty())
        base::log(base::severity::warning, "it created webhooks, which are disabled now: " + ids);
    if (!created.at("is_complete").as_bool())
        base::log(base::severity::warning,
                  "older keys may be its too: `latchkey audit` shows what it did");
}

std::string undoing_of(state_options const& options) {
    return options.reason == "compromised"
               ? "this cannot be undone"
               : "latchkey keys reactivate " + std::to_string(options.id) + " undoes it";
}

// Asks at a terminal before a key is turned off that clients use. A script is not held up: it means
// this key.
std::optional<int> ask_about_use(keys_backend& keys, state_options const& options) {
    constexpr base::wall_ms day_ms = 86'400'000;
    if (options.is_confirmed || !can_ask()) return std::nullopt;
    auto const document = keys.show(options.id);
    if (!document) return std::nullopt;  // what is wrong with the key, its end will say
    auto const key = parse_object(*document).value();
    auto const last_use = base::parse_timestamp(text_of(key, "last_used_at"));
    if (text_of(key, "state") != "active" || !last_use ||
        base::read_clocks().clock - *last_use > day_ms)
        return std::nullopt;
    return confirm("key " + text_of(key, "id") + " '" + text_of(key, "name") + "' was used at " +
                       time_of(key, "last_used_at") + ", and its clients would be refused; " +
                       undoing_of(options),
                   false);
}

int deactivate(state_options const& options) {
    if (options.reason != "manual" && options.reason != "compromised")
        return report_usage_error("--reason must be manual or compromised");
    if (options.project.empty() == (options.id == 0))
        return report_usage_error("give either the ID of a key or --project");
    if (!options.project.empty()) return deactivate_project(options);
    int code = done;
    auto const keys = open_keys(options, code);
    if (keys == nullptr) return code;
    if (auto const failure = refuse_last_managing(*keys, {options.id}, options.is_confirmed))
        return report(*failure);
    if (auto const end = ask_about_use(*keys, options)) return *end;
    auto const document = keys->deactivate(options.id, options.reason);
    if (!document) return report(document.error());
    print_key(*document, options.json);
    if (options.json) return done;
    tell_created(*document);
    base::log(undoing_of(options));
    return done;
}

int reactivate(state_options const& options) {
    int code = done;
    auto const keys = open_keys(options, code);
    if (keys == nullptr) return code;
    auto const document = keys->reactivate(options.id);
    if (!document) return report(document.error());
    print_key(*document, options.json);
    return done;
}

std::shared_ptr<state_options> begin(CLI::App& command, bool needs_id) {
    auto const options = std::make_shared<state_options>();
    auto* const id =
        take_number(command.add_option("ID", options->id, key_id_help), 1, base::limits::id_max);
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
        keys.add_subcommand("deactivate", "Deactivate (revoke) a key, or all keys of a project");
    auto const deactivate_options = begin(*deactivate_command, false);
    deactivate_options->add_to(*deactivate_command);
    deactivate_command
        ->add_option("--reason", deactivate_options->reason,
                     "manual, or compromised (which cannot be undone)")
        ->type_name("{manual,compromised}")
        ->capture_default_str();
    deactivate_command->add_option("--project", deactivate_options->project,
                                   "All keys of this project, instead of one");
    add_confirmation(*deactivate_command, deactivate_options->is_confirmed);
    deactivate_command->footer(
        "Every request that begins after this command is refused; where a node of a cluster does\n"
        "not answer, from the time that is printed. To undo it (if not compromised):\n"
        "latchkey keys reactivate. Asks first where it turns off several keys, or the last one\n"
        "that can manage keys; without a terminal and without --yes the exit code is then 3. On a\n"
        "terminal it also asks before it turns off a key that was used within a day.\n"
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
    reactivate_command->callback(
        [reactivate_options, &code] { code = reactivate(*reactivate_options); });
}

}  // namespace latchkey::cli
