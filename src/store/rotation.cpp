// Rotation: a new key with the settings of an old one, and a time in which both work. The old one
// is not written again when that time ends: its record says when, and the clock does the rest.
#include <algorithm>

#include "base/limits.hpp"
#include "store/audit_log.hpp"
#include "store/giver.hpp"
#include "store/key_record.hpp"

namespace latchkey::store {
namespace {

using base::problem;

// The new key gets the lifetime of the old one, not its instant.
model::key successor_of(model::key const& old, rotate_key const& what, command const& whole,
                        transaction& in) {
    auto key = old;
    key.id = in.heads().last_key + 1;
    key.digest = what.digest;
    key.start = what.start;
    key.last4 = what.last4;
    key.created_at = in.now();
    key.created_by = whole.caller;
    key.not_before = 0;
    if (old.expires_at != 0)
        key.expires_at = in.now() + old.expires_at - std::max(old.created_at, old.not_before);
    key.replaces = old.id;
    key.lineage = old.line();
    key.replaced_by = 0;
    key.rotation_ends_at = 0;
    return key;
}

}  // namespace

outcome run(transaction& in, rotate_key const& what, command const& whole) {
    giver const by(in, whole);
    model::key old;
    auto const found = read_key(in, what.id, old);
    if (found == problem::internal_error) return refused(found);
    if (found != problem::none || !by.sees(old))
        return missing(whole, "There is no key " + std::to_string(what.id) + ".");
    if (auto no = by.objection(old.scopes))
        return refused(problem::insufficient_scope, std::move(*no));
    if (!whole.faults.empty()) return invalid(whole.faults);
    auto const tag = [&] { return model::tag_of(old, in.now()); };
    if (auto no = unmet(whole, tag)) return std::move(*no);
    if (old.state_at(in.now()) != model::key_state::active) return refused(problem::key_not_active);
    if (old.replaced_by != 0) return refused(problem::rotation_in_progress);
    auto const made = successor_of(old, what, whole, in);
    // Whoever rotates a key holds the new one in his hands.
    if (auto no = by.objection_to_making(made))
        return refused(problem::insufficient_scope, std::move(*no));
    if (in.has(table::index, digest_key(what.digest)) || !can_be_kept(made))
        return refused(problem::internal_error);
    if (made.id > base::limits::id_max) return refused(problem::storage_full);
    if (auto const full = no_room(in, true)) return refused(*full);

    auto after = old;
    after.replaced_by = made.id;
    after.rotation_ends_at = in.now() + what.overlap_ms;
    if (old.expires_at != 0)
        after.rotation_ends_at = std::min(after.rotation_ends_at, old.expires_at);
    put_key(in, &old, after);
    put_key(in, nullptr, made);
    note(in, whole, audit_action::key_rotate, after, {"replaced_by", "rotation_ends_at"});
    note(in, whole, audit_action::key_create, made, {"replaces"});
    return {.record = made};
}

}  // namespace latchkey::store
