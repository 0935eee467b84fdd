// keys update: changes what is given, as PATCH /keys/{id} does.
#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>

#include "base/limits.hpp"
#include "cli/frame/confirm.hpp"
#include "cli/frame/key_text.hpp"
#include "cli/frame/print.hpp"
#include "cli/frame/whole_number.hpp"
#include "cli/keys/key_options.hpp"
#include "cli/keys/keys.hpp"
#include "cli/keys/keys_backend.hpp"
#include "cli/keys/managing_keys.hpp"
#include "model/scope.hpp"

namespace latchkey::cli {
namespace {

struct update_options : api_command {
    model::id id = 0;
    key_options key;
    bool is_confirmed = false;
};

// May a key that manages keys do so no longer?
bool may_end_management(key_options const& key) {
    model::scope_set scopes;
    for (auto const& each : key.scopes) scopes.add(each);
    bool const is_narrowed = !key.scopes.empty() && !scopes.allows(model::scope::keys_write);
    bool const is_ended =
        !key.expires_in.empty() || (!key.expires_at.empty() && key.expires_at != "none");
    bool const is_delayed = !key.not_before.empty() && key.not_before != "none";
    return is_narrowed || is_ended || is_delayed;
}

int update(update_options const& options) {
    json_members members;
    if (auto const described = options.key.append_to(members, false, base::read_clocks().clock);
        !described)
        return report_usage_error(described.error().message);
    if (members.empty())
        return report_usage_error("say what to change: latchkey keys update --help lists it");
    int code = done;
    auto const keys = open_keys(options, code);
    if (keys == nullptr) return code;
    if (may_end_management(options.key))
        if (auto const failure = refuse_last_managing(*keys, {options.id}, options.is_confirmed))
            return report(*failure);
    auto const document = keys->change(options.id, members.end());
    if (!document) return report(document.error());
    print_key(*document, options.json, true);
    return done;
}

}  // namespace

void add_keys_update(CLI::App& keys, int& code) {
    auto* const command = keys.add_subcommand(
        "update", "Change the name, scopes, rate limits, expiry or addresses of a key");
    auto const options = std::make_shared<update_options>();
    take_number(command->add_option("ID", options->id, key_id_help), 1, base::limits::id_max)
        ->required();
    options->add_to(*command);
    options->key.add_to(*command, false);
    add_confirmation(*command, options->is_confirmed);
    command->footer(
        "Only what is given changes; it holds for the next request. Asks first where the last\n"
        "key that can manage keys would no longer do so.\n"
        "Example: latchkey keys update 17 --limit minute=100/60 --ip-allow 10.0.0.0/8");
    command->callback([options, &code] { code = update(*options); });
}

}  // namespace latchkey::cli
