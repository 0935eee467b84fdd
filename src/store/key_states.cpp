// Turning keys off and on.
#include "store/audit_log.hpp"
#include "store/giver.hpp"
#include "store/key_record.hpp"

namespace latchkey::store {
namespace {

using base::problem;
using model::deactivation;

// The key, if the caller may turn it off or on; else what to answer.
std::optional<outcome> find_for(transaction& in, command const& whole, model::id id,
                                model::key& into) {
    giver const by(in, whole);
    auto const found = read_key(in, id, into);
    if (found == problem::internal_error) return refused(found);
    if (found != problem::none || !by.sees(into))
        return missing(whole, "There is no key " + std::to_string(id) + ".");
    if (auto no = by.objection(into.scopes))
        return refused(problem::insufficient_scope, std::move(*no));
    if (!whole.faults.empty()) return invalid(whole.faults);
    return std::nullopt;
}

}  // namespace

outcome run(transaction& in, deactivate_key const& what, command const& whole) {
    model::key before;
    if (auto wrong = find_for(in, whole, what.id, before)) return std::move(*wrong);
    auto const end = before.ending_at(in.now());
    bool const worse = what.reason == deactivation::compromised && end.reason != what.reason;
    if (end.reason != deactivation::none && !worse) return shown(in, std::move(before));
    // A key that others have got hold of is turned off whatever that costs.
    if (whole.caller != 0 && what.reason != deactivation::compromised && is_last_admin(in, before))
        return refused(problem::last_admin_key);
    if (auto const full = no_room(in, false)) return refused(*full);

    auto after = before;
    after.deactivated_at = end.at != 0 ? end.at : in.now();
    after.deactivation_reason = what.reason;
    put_key(in, &before, after);
    note(in, whole, audit_action::key_deactivate, after, {"deactivated_at", "deactivation_reason"});
    return shown(in, std::move(after));
}

outcome run(transaction& in, reactivate_key const& what, command const& whole) {
    model::key before;
    if (auto wrong = find_for(in, whole, what.id, before)) return std::move(*wrong);
    if (before.state_at(in.now()) != model::key_state::deactivated)
        return shown(in, std::move(before));
    bool const replaced = before.rotation_ends_at != 0 && in.now() >= before.rotation_ends_at;
    if (before.deactivation_reason != deactivation::manual || replaced)
        return refused(problem::key_not_reactivatable);
    if (auto const full = no_room(in, true)) return refused(*full);

    auto after = before;
    after.deactivated_at = 0;
    after.deactivation_reason = deactivation::none;
    put_key(in, &before, after);
    note(in, whole, audit_action::key_reactivate, after, {"deactivated_at", "deactivation_reason"});
    return shown(in, std::move(after));
}

}  // namespace latchkey::store
