#include "base/limits.hpp"
#include "store/commands.hpp"

namespace latchkey::store {
namespace {

// A key may be allowed to send the events of one source alone.
bool is_allowed(model::key const& caller, command const& whole) {
    if (auto const* const event = std::get_if<receive_event>(&whole.what))
        return caller.scopes.allows_events_of(event->source);
    return !whole.needs || caller.scopes.allows(*whole.needs);
}

// The key may have been turned off, or have lost the scope, since the worker looked at it.
base::problem judge_caller(transaction& in, command const& whole) {
    using enum base::problem;
    if (whole.caller == 0) return none;
    if (in.vouched.caller == whole.caller && in.vouched.needs == whole.needs) return none;
    auto const bytes = in.get(table::index, key_key(whole.caller));
    if (!bytes) return key_invalid;
    auto const caller = model::decode_key(whole.caller, *bytes);
    if (!caller) return internal_error;
    if (auto const refusal = model::refusal_of(caller->state_at(in.now())); refusal != none)
        return refusal;
    if (!is_allowed(*caller, whole)) return insufficient_scope;
    if (!whole.needs || caller->scopes.allows(*whole.needs))
        in.vouched = {whole.caller, whole.needs};
    return none;
}

void add_read_only(std::vector<base::fault>& faults, std::string_view pointer) {
    faults.push_back({.at = std::string(pointer),
                      .code = base::field_code::read_only_field,
                      .detail = "This member is assigned by the service; it can only be sent back "
                                "unchanged."});
}

// Null and a time of zero are the same.
bool differs(std::optional<std::optional<base::wall_ms>> const& sent, base::wall_ms recorded) {
    return sent && sent->value_or(0) != recorded;
}

}  // namespace

outcome decide(transaction& in, command const& whole) {
    if (auto const refusal = judge_caller(in, whole); refusal != base::problem::none)
        return refused(refusal);
    auto answer = std::visit([&](auto const& what) { return run(in, what, whole); }, whole.what);
    answer.at = in.now();
    return answer;
}

outcome refused(base::problem problem, std::string detail) {
    outcome answer;
    answer.problem = problem;
    answer.detail = std::move(detail);
    return answer;
}

outcome invalid(std::vector<base::fault> faults) {
    if (faults.size() > base::limits::faults_max) faults.resize(base::limits::faults_max);
    outcome answer;
    answer.problem = base::problem::validation_failed;
    answer.faults = std::move(faults);
    return answer;
}

outcome missing(command const& whole, std::string detail) {
    if (!whole.faults.empty()) return invalid(whole.faults);
    return refused(base::problem::not_found, std::move(detail));
}

std::optional<base::problem> no_room(transaction& in, bool growing) {
    auto const& space = in.space();
    if (growing ? space.grow : space.write) return std::nullopt;
    return base::problem::storage_full;
}

void compare(expected_members const& sent, read_only_members const& record,
             std::vector<base::fault>& faults) {
    if (sent.id && *sent.id != record.id) add_read_only(faults, "/id");
    if (sent.user_id && record.user_id && *sent.user_id != *record.user_id)
        add_read_only(faults, "/user_id");
    if (differs(sent.created_at, record.created_at)) add_read_only(faults, "/created_at");
    if (differs(sent.updated_at, record.updated_at)) add_read_only(faults, "/updated_at");
    if (record.published_at && differs(sent.published_at, *record.published_at))
        add_read_only(faults, "/published_at");
}

}  // namespace latchkey::store
