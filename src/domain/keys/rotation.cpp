// Rotation: a new key with the attributes of an old one, and an overlap in which both work. The old
// key's record has the end of the overlap, so nothing is written when that time comes.
#include <algorithm>

#include "domain/audit/audit_log.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/frame/rejection.hpp"
#include "domain/keys/grant_check.hpp"
#include "domain/keys/key_notice.hpp"
#include "domain/keys/key_record.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

// The new key gets the lifetime of the old one, not its expiry.
model::key successor_of(model::key const& old_key, rotate_key const& action, command const& command,
                        transaction& txn) {
    auto key = old_key;
    key.id = txn.counters().last_key + 1;
    key.digest = action.digest;
    key.start = action.start;
    key.last4 = action.last4;
    key.created_at = txn.now();
    key.created_by = command.caller;
    key.not_before = 0;
    if (old_key.expires_at != 0)
        key.expires_at =
            txn.now() + old_key.expires_at - std::max(old_key.created_at, old_key.not_before);
    key.replaces = old_key.id;
    key.lineage = old_key.line();
    key.replaced_by = 0;
    key.rotation_ends_at = 0;
    key.limit_generations.clear();
    return key;
}

}  // namespace

outcome run(transaction& txn, rotate_key const& action, command const& command) {
    grant_check const grants(txn, command);
    model::key old_key;
    auto const result = read_key(txn, action.id, old_key);
    if (result == problem::internal_error) return reject(result);
    if (result != problem::none || !grants.can_see(old_key))
        return reject_missing(command, "There is no key " + std::to_string(action.id) + ".");
    if (auto reason = grants.scope_denial(old_key.scopes))
        return reject(problem::insufficient_scope, std::move(*reason));
    if (!command.faults.empty()) return reject_invalid(command.faults);
    auto const tag = [&] { return model::tag_of(old_key, txn.now()); };
    if (auto rejection = check_conditions(command, tag)) return std::move(*rejection);
    if (old_key.kind == model::key_kind::jwt) return reject(problem::key_not_rotatable);
    if (old_key.state_at(txn.now()) != model::key_state::active)
        return reject(problem::key_not_active);
    if (old_key.replaced_by != 0) return reject(problem::rotation_in_progress);
    auto const successor = successor_of(old_key, action, command, txn);
    // The caller gets the text of the new key, so it must be allowed to create such a key.
    if (auto reason = grants.creation_denial(successor))
        return reject(problem::insufficient_scope, std::move(*reason));
    if (txn.has(table::index, digest_key(action.digest)) || !is_storable(successor))
        return reject(problem::internal_error);
    if (auto rejection = check_key_ids(txn)) return std::move(*rejection);
    if (auto rejection = check_audit_share(txn, command, old_key.project))
        return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    auto rotated = old_key;
    rotated.replaced_by = successor.id;
    rotated.rotation_ends_at = txn.now() + action.overlap_ms;
    if (old_key.expires_at != 0)
        rotated.rotation_ends_at = std::min(rotated.rotation_ends_at, old_key.expires_at);
    put_key(txn, &old_key, rotated);
    put_key(txn, nullptr, successor);
    note(txn, command, audit_action::key_rotate, rotated, {"replaced_by", "rotation_ends_at"});
    note(txn, command, audit_action::key_create, successor, {"replaces"});
    note_change(txn, model::change_type::key_rotated, command.caller, rotated);
    note_change(txn, model::change_type::key_created, command.caller, successor);
    if (rotated.rotation_ends_at <= txn.now()) tell_end_of_rotation(txn, rotated);
    return {.record = successor};
}

}  // namespace latchkey::domain
