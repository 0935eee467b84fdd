// Deactivating and reactivating keys, and ending the sessions that began with one.
#include <algorithm>
#include <array>

#include "domain/audit/audit_log.hpp"
#include "domain/frame/cascade.hpp"
#include "domain/frame/rejection.hpp"
#include "domain/keys/grant_check.hpp"
#include "domain/keys/key_record.hpp"

namespace latchkey::domain {
namespace {

using base::problem;
using model::deactivation;

constexpr base::wall_ms audit_step_ms = 60'000;  // of the ends of a key's sessions

// Reads the key if the caller may deactivate or reactivate it; else returns the rejection.
std::optional<outcome> find_switchable(transaction& txn, command const& command, model::id id,
                                       model::key& key) {
    grant_check const grants(txn, command);
    auto const result = read_key(txn, id, key);
    if (result == problem::internal_error) return reject(result);
    if (result != problem::none || !grants.can_see(key))
        return reject_missing(command, "There is no key " + std::to_string(id) + ".");
    if (auto reason = grants.scope_denial(key.scopes))
        return reject(problem::insufficient_scope, std::move(*reason));
    if (!command.faults.empty()) return reject_invalid(command.faults);
    return check_conditions(command, [&] { return model::tag_of(key, txn.now()); });
}

outcome revoke(transaction& txn, command const& command, model::key&& key, bool names_keys) {
    revocation result;
    auto const webhooks = disable_webhooks_of(txn, command, key.id);
    result.webhooks.assign(webhooks.rbegin(), webhooks.rend());
    auto const last = txn.counters().last_key;
    auto const looked_at_max = static_cast<model::id>(revoked_keys_looked_at_max);
    auto const bound = names_keys ? std::max(key.id, last - looked_at_max) : last;
    auto id = last;
    for (; id > bound && result.keys.size() < revoked_keys_max; --id) {
        auto const bytes = txn.find(table::index, key_key(id));
        auto const other = bytes ? model::decode_key(id, *bytes) : std::nullopt;
        if (other && other->created_by == key.id &&
            other->ending_at(txn.now()).reason == deactivation::none)
            result.keys.push_back(id);
    }
    result.is_complete = id <= key.id;
    auto const last_use = last_use_of(txn, key.id);
    result.key = std::move(key);
    return {.record = std::move(result), .last_used_at = last_use};
}

}  // namespace

outcome run(transaction& txn, deactivate_key const& action, command const& command) {
    model::key old_key;
    if (auto rejection = find_switchable(txn, command, action.id, old_key))
        return std::move(*rejection);
    auto const end = old_key.ending_at(txn.now());
    bool const is_compromised = action.reason == deactivation::compromised;
    bool const worse = is_compromised && end.reason != action.reason;
    bool const is_over = end.reason != deactivation::none && !worse;
    if (is_over && !is_compromised) return key_result(txn, std::move(old_key));
    // A compromised key is deactivated even if it is the last that manages keys.
    if (command.caller != 0 && !is_compromised && is_last_admin(txn, old_key))
        return reject(problem::last_admin_key);
    if (auto const shortage = check_capacity(txn, false)) return reject(*shortage);
    if (is_over) return revoke(txn, command, std::move(old_key), action.names_keys);

    auto new_key = old_key;
    new_key.deactivated_at = end.time != 0 ? end.time : txn.now();
    new_key.deactivation_reason = action.reason;
    put_key(txn, &old_key, new_key);
    note(txn, command, audit_action::key_deactivate, new_key,
         {"deactivated_at", "deactivation_reason"});
    note_change(txn, model::change_type::key_deactivated, command.caller, new_key);
    return is_compromised ? revoke(txn, command, std::move(new_key), action.names_keys)
                          : key_result(txn, std::move(new_key));
}

outcome run(transaction& txn, reactivate_key const& action, command const& command) {
    model::key old_key;
    if (auto rejection = find_switchable(txn, command, action.id, old_key))
        return std::move(*rejection);
    if (old_key.state_at(txn.now()) != model::key_state::deactivated)
        return key_result(txn, std::move(old_key));
    bool const replaced = old_key.rotation_ends_at != 0 && txn.now() >= old_key.rotation_ends_at;
    if (old_key.deactivation_reason != deactivation::manual || replaced)
        return reject(problem::key_not_reactivatable);
    if (auto rejection = check_audit_share(txn, command, old_key.project))
        return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    auto new_key = old_key;
    new_key.deactivated_at = 0;
    new_key.deactivation_reason = deactivation::none;
    put_key(txn, &old_key, new_key);
    note(txn, command, audit_action::key_reactivate, new_key,
         {"deactivated_at", "deactivation_reason"});
    note_change(txn, model::change_type::key_reactivated, command.caller, new_key);
    return key_result(txn, std::move(new_key));
}

// Sessions of another generation have ended: an order of times would not hold on nodes whose clocks
// differ. It is a time all the same, so that none comes back where a backup was restored.
outcome run(transaction& txn, end_sessions const& action, command const& command) {
    model::key key;
    if (auto const result = read_key(txn, action.key, key); result != problem::none)
        return reject(result);
    if (auto rejection = check_conditions(command, [&] { return model::tag_of(key, txn.now()); }))
        return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, false)) return reject(*shortage);
    auto const generation = sessions_generation_key(key.id);
    auto const bytes = txn.get(table::index, generation);
    auto const last = bytes ? read_id(*bytes).value_or(0) : 0;
    std::array<char, 8> value;
    txn.put(table::index, generation,
            id_value(std::max(last + 1, static_cast<model::id>(txn.now())), value));
    txn.note_urgency();  // the answer waits until no node accepts the sessions
    // Any key may do this as often as its limits allow: the audit log grows once a minute at most.
    if (txn.now() / audit_step_ms != last / audit_step_ms)
        note(txn, command, audit_action::key_end_sessions, key, {});
    return {.time = txn.now()};
}

}  // namespace latchkey::domain
