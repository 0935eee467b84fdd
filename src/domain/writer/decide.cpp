#include "domain/writer/decide.hpp"

#include "domain/frame/rejection.hpp"
#include "domain/idempotency/idempotency.hpp"

namespace latchkey::domain {
namespace {

// A key may be restricted to the events of one source.
bool is_allowed(model::scope_set const& scopes, command const& command) {
    if (auto const* const event = std::get_if<receive_event>(&command.action))
        return scopes.allows_events_of(event->source);
    return !command.required_scope || scopes.allows(*command.required_scope);
}

// The key may have been deactivated, or have lost the scope, since the worker looked it up.
base::problem judge_caller(transaction& txn, command const& command, checked_caller& last) {
    using enum base::problem;
    if (command.caller == 0) return none;
    if (command.token_scopes && !is_allowed(*command.token_scopes, command))
        return insufficient_scope;
    auto const key_epoch = txn.counters().key_epoch;
    if (last.key == command.caller && last.required_scope == command.required_scope &&
        last.key_epoch == key_epoch)
        return none;
    auto const bytes = txn.get(table::index, key_key(command.caller));
    if (!bytes) return key_invalid;
    auto const caller = model::decode_key(command.caller, *bytes);
    if (!caller) return internal_error;
    if (auto const refusal = model::refusal_of(caller->state_at(txn.now())); refusal != none)
        return refusal;
    if (!is_allowed(caller->scopes, command)) return insufficient_scope;
    if (!command.required_scope || caller->scopes.allows(*command.required_scope))
        last = {command.caller, command.required_scope, key_epoch};
    return none;
}

}  // namespace

outcome decide(transaction& txn, command const& command, checked_caller& last) {
    if (auto const refusal = judge_caller(txn, command, last); refusal != base::problem::none)
        return reject(refusal);
    if (command.idempotency)
        if (auto outcome = find_outcome(txn, *command.idempotency)) return std::move(*outcome);
    auto result =
        std::visit([&](auto const& action) { return run(txn, action, command); }, command.action);
    result.time = txn.now();
    if (command.idempotency && is_kept(result.problem))
        keep_outcome(txn, *command.idempotency, result);
    return result;
}

// Tells at once whether the position is reached, for those who do not wait for it.
outcome run(transaction& txn, await_position const& action, command const&) {
    if (txn.position() >= action.position) return {};
    return reject(base::problem::behind);
}

outcome run(transaction& txn, raise_schema const&, command const&) {
    txn.raise_schema(row_schema());
    return {};
}

outcome run(transaction&, refuse const& action, command const& command) {
    auto result = reject(action.problem, action.detail);
    result.faults = command.faults;
    return result;
}

std::size_t bytes_of(refuse const& action) {
    return action.detail.size();
}

}  // namespace latchkey::domain
