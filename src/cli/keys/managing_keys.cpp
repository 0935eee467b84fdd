#include "cli/keys/managing_keys.hpp"

#include <algorithm>
#include <boost/json/object.hpp>

#include "cli/frame/confirm.hpp"
#include "cli/frame/json.hpp"
#include "model/scope.hpp"

namespace latchkey::cli {
namespace {

bool can_manage(json_object const& key) {
    model::scope_set scopes;
    for (auto const& each : list_of(key, "scopes"))
        if (each.is_string()) scopes.add(std::string_view(each.get_string()));
    return scopes.allows(model::scope::keys_write);
}

}  // namespace

std::optional<refusal> refuse_last_managing(keys_backend& keys, std::vector<model::id> const& ids,
                                            bool is_confirmed) {
    if (is_confirmed) return std::nullopt;
    bool turns_off_one = false, leaves_one = false;
    key_selection const active{.project = {}, .state = "active", .environment = {}};
    auto failure = keys.each(active, [&](std::string_view text) {
        auto const key = parse_object(text).value();
        if (!can_manage(key)) return;
        if (std::ranges::find(ids, number_of(key, "id")) != ids.end())
            turns_off_one = true;
        else if (text_of(key, "rotation_ends_at").empty())
            leaves_one = true;
    });
    // A key to ask with may turn keys off and not list them: then the service guards the last one.
    if (failure) return keys.is_remote() ? std::nullopt : failure;
    if (!turns_off_one || leaves_one) return std::nullopt;
    auto const end = confirm(
        "no other key can manage keys, so after this only the command line beside the store can",
        is_confirmed);
    if (end) return refusal{{}, *end};
    return std::nullopt;
}

}  // namespace latchkey::cli
