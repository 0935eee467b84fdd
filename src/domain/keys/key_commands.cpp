// Creating keys and changing their attributes. See key_states.cpp for states, rotation.cpp for
// rotation.
#include <algorithm>

#include "domain/audit/audit_log.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/frame/rejection.hpp"
#include "domain/keys/grant_check.hpp"
#include "domain/keys/key_notice.hpp"
#include "domain/keys/key_record.hpp"

namespace latchkey::domain {
namespace {

using base::field_code;
using base::problem;
using faults = std::vector<base::fault>;

void add(faults& list, std::string_view pointer, field_code code, std::string_view detail) {
    list.push_back({.location = std::string(pointer), .code = code, .detail = std::string(detail)});
}

using member_value = std::variant<std::monostate, std::int64_t, std::string>;

member_value text_value(std::string_view text) {
    return text.empty() ? member_value{} : member_value{std::string(text)};
}
member_value number_value(std::int64_t number) {
    return number == 0 ? member_value{} : member_value{number};
}

// The current value of a read-only member; null for other names.
member_value value_of(model::key const& key, std::string_view name, base::wall_ms now) {
    auto const end = key.ending_at(now);
    if (name == "id") return number_value(key.id);
    if (name == "kind") return text_value(model::name_of(key.kind));
    if (name == "issuer") return text_value(key.issuer);
    if (name == "subject") return text_value(key.subject);
    if (name == "project") return text_value(key.project);
    if (name == "start") return text_value(key.start);
    if (name == "last4") return text_value(key.last4);
    if (name == "state") return text_value(model::name_of(key.state_at(now)));
    if (name == "created_at") return number_value(key.created_at);
    if (name == "created_by") return number_value(key.created_by);
    if (name == "deactivated_at") return number_value(end.time);
    if (name == "deactivation_reason") return text_value(model::name_of(end.reason));
    if (name == "replaces") return number_value(key.replaces);
    if (name == "replaced_by") return number_value(key.replaced_by);
    if (name == "rotation_ends_at") return number_value(key.rotation_ends_at);
    return {};
}

// Assigns each limit its slot among the key's token buckets. A limit that keeps its name keeps its
// slot, and so its bucket; a new one gets the lowest free slot with a new generation, so that it
// does not inherit the fill level of an earlier limit there.
void assign_slots(model::key& key, model::key const& old_key, std::uint64_t generation) {
    auto const& limits = key.rate_limits;
    std::vector<std::uint8_t> slots(limits.size());
    std::vector<std::uint64_t> generations(limits.size(), generation);
    std::vector<bool> assigned(limits.size(), false);
    unsigned used_slots = 0;
    for (std::size_t i = 0; i < old_key.rate_limits.size(); ++i) {
        auto const match =
            std::ranges::find(limits, old_key.rate_limits[i].name, &model::rate_limit::name);
        if (match == limits.end()) continue;
        auto const position = static_cast<std::size_t>(match - limits.begin());
        slots[position] = old_key.limit_slots[i];
        generations[position] =
            old_key.limit_generations.empty() ? 0 : old_key.limit_generations[i];
        assigned[position] = true;
        used_slots |= 1u << old_key.limit_slots[i];
    }
    for (std::size_t i = 0; i < limits.size(); ++i) {
        if (assigned[i]) continue;
        slots[i] = static_cast<std::uint8_t>(__builtin_ctz(~used_slots));
        used_slots |= 1u << slots[i];
    }
    key.limit_slots = std::move(slots);
    key.limit_generations = std::move(generations);
}

// `generation` must be above that of every existing limit.
model::key apply_change(model::key const& old_key, change_key const& action,
                        std::uint64_t generation) {
    auto key = old_key;
    if (action.name) key.name = *action.name;
    if (action.environment) key.environment = *action.environment;
    if (action.scopes) key.scopes = *action.scopes;
    if (action.not_before) key.not_before = *action.not_before;
    if (action.expires_at) key.expires_at = *action.expires_at;
    if (action.ip_allowlist) key.ip_allowlist = *action.ip_allowlist;
    if (action.rate_limits && *action.rate_limits != old_key.rate_limits) {
        key.rate_limits = *action.rate_limits;
        assign_slots(key, old_key, generation);
    }
    if (action.clear_metadata) key.metadata.clear();
    for (auto const& [name, value] : action.metadata)
        value ? void(key.metadata[name] = *value) : void(key.metadata.erase(name));
    return key;
}

std::vector<std::string> differences(model::key const& old_key, model::key const& new_key) {
    std::vector<std::string> fields;
    auto const compare = [&](bool match, char const* name) {
        if (!match) fields.emplace_back(name);
    };
    compare(old_key.name == new_key.name, "name");
    compare(old_key.environment == new_key.environment, "environment");
    compare(old_key.scopes == new_key.scopes, "scopes");
    compare(old_key.not_before == new_key.not_before, "not_before");
    compare(old_key.expires_at == new_key.expires_at, "expires_at");
    compare(old_key.rate_limits == new_key.rate_limits, "rate_limits");
    compare(old_key.ip_allowlist == new_key.ip_allowlist, "ip_allowlist");
    compare(old_key.metadata == new_key.metadata, "metadata");
    return fields;
}

// Faults in the changed key as a whole, and in read-only members.
faults validate_change(change_key const& action, model::key const& old_key,
                       model::key const& new_key, base::wall_ms now) {
    faults result;
    for (auto const& each : action.expected)
        if (value_of(old_key, each.name, now) != each.value)
            add(result, "/" + each.name, field_code::read_only_field,
                "is assigned by the service: leave it out, or send it back unchanged");
    bool const is_move =
        old_key.expires_at != new_key.expires_at || old_key.not_before != new_key.not_before;
    if (is_move && new_key.expires_at != 0 && new_key.expires_at <= new_key.not_before)
        add(result, action.expires_at ? "/expires_at" : "/not_before", field_code::out_of_range,
            action.expires_at ? "must be after `not_before`" : "must be before `expires_at`");
    else if (old_key.expires_at != new_key.expires_at && new_key.expires_at != 0 &&
             new_key.expires_at <= now)
        add(result, "/expires_at", field_code::out_of_range, "must be in the future");
    std::size_t bytes = 0;
    for (auto const& [name, value] : new_key.metadata) bytes += name.size() + value.size();
    if (new_key.metadata.size() > model::metadata_members_max || bytes > model::metadata_bytes_max)
        add(result, "/metadata", field_code::too_long, "must have at most 50 members and 16 KiB");
    return result;
}

// Does the change end the key's ability to manage keys, now or earlier than before?
bool weakens(model::key const& old_key, model::key const& new_key, base::wall_ms now) {
    bool const sooner = new_key.expires_at != 0 &&
                        (old_key.expires_at == 0 || new_key.expires_at < old_key.expires_at);
    return sooner || !new_key.scopes.allows(model::scope::keys_write) ||
           new_key.state_at(now) != model::key_state::active;
}

// In a cluster, can all nodes read the record?
std::optional<outcome> check_schema(transaction& txn, model::key const& key) {
    bool const is_bearer = key.kind == model::key_kind::jwt;
    bool const verifies_all = key.scopes.has(model::scope::keys_verify_all);
    if ((!is_bearer || txn.records_bearers()) && (!verifies_all || txn.records_verify_all()))
        return std::nullopt;
    return reject(problem::behind,
                  "Nodes of an older version serve this cluster: they cannot read such a record "
                  "until latchkey cluster upgrade was run.");
}

}  // namespace

outcome run(transaction& txn, create_key const& action, command const& command) {
    if (!command.faults.empty()) return reject_invalid(command.faults);
    if (auto reason = grant_check(txn, command).creation_denial(action.record))
        return reject(problem::insufficient_scope, std::move(*reason));
    if (auto rejection = check_conditions(command)) return std::move(*rejection);
    bool const is_bearer = action.record.kind == model::key_kind::jwt;
    if (auto rejection = check_schema(txn, action.record)) return std::move(*rejection);
    bool const is_taken = txn.has(table::index, digest_key(action.record.digest));
    if (is_taken && is_bearer) return reject(problem::subject_taken);
    if (is_taken)
        return reject_invalid({{.location = "/digest",
                                .code = field_code::invalid_format,
                                .detail = "is the digest of a key that is there already"}});
    if (!is_storable(action.record)) return reject(problem::internal_error);
    if (auto rejection = check_key_ids(txn)) return std::move(*rejection);
    if (auto rejection = check_audit_share(txn, command, action.record.project))
        return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    auto key = action.record;
    key.id = txn.counters().last_key + 1;
    key.created_at = txn.now();
    key.created_by = command.caller;
    assign_slots(key, {.rate_limits = {}}, 0);
    put_key(txn, nullptr, key);
    note(txn, command, key.is_imported() ? audit_action::key_import : audit_action::key_create, key,
         {});
    note_change(txn, model::change_type::key_created, command.caller, key);
    return {.record = std::move(key)};
}

outcome run(transaction& txn, change_key const& action, command const& command) {
    grant_check const grants(txn, command);
    model::key old_key;
    auto const read_problem = read_key(txn, action.id, old_key);
    if (read_problem == problem::internal_error) return reject(read_problem);
    if (read_problem != problem::none || !grants.can_see(old_key))
        return reject_missing(command, "There is no key " + std::to_string(action.id) + ".");
    if (auto reason = grants.scope_denial(old_key.scopes))
        return reject(problem::insufficient_scope, std::move(*reason));

    auto const tag = [&] { return model::tag_of(old_key, txn.now()); };
    if (command.faults.empty())
        if (auto rejection = check_conditions(command, tag)) return std::move(*rejection);
    auto const new_key = apply_change(old_key, action, txn.counters().key_epoch + 1);
    auto problems = command.faults;
    for (auto& each : validate_change(action, old_key, new_key, txn.now()))
        problems.push_back(std::move(each));
    if (!problems.empty()) return reject_invalid(std::move(problems));
    if (auto reason = grants.change_denial(old_key, new_key))
        return reject(problem::insufficient_scope, std::move(*reason));
    if (auto rejection = check_schema(txn, new_key)) return std::move(*rejection);
    if (command.caller != 0 && weakens(old_key, new_key, txn.now()) && is_last_admin(txn, old_key))
        return reject(problem::last_admin_key);
    auto fields = differences(old_key, new_key);
    if (fields.empty()) return key_result(txn, std::move(old_key));
    if (!is_storable(new_key)) return reject(problem::internal_error);
    if (auto rejection = check_audit_share(txn, command, new_key.project))
        return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    if (old_key.not_before != new_key.not_before || old_key.expires_at != new_key.expires_at)
        tell_times_before_change(txn, old_key);
    put_key(txn, &old_key, new_key);
    note(txn, command, audit_action::key_change, new_key, std::move(fields));
    note_change(txn, model::change_type::key_updated, command.caller, new_key);
    return key_result(txn, new_key);
}

std::size_t bytes_of(create_key const& action) {
    auto const& key = action.record;
    std::size_t bytes = key.name.size() + key.project.size() +
                        key.rate_limits.size() * sizeof(model::rate_limit) +
                        key.ip_allowlist.size() * sizeof(model::cidr);
    for (auto const& [name, value] : key.metadata) bytes += name.size() + value.size() + 64;
    return bytes;
}

std::size_t bytes_of(change_key const& action) {
    std::size_t bytes = text_bytes(action.name);
    for (auto const& [name, value] : action.metadata) bytes += name.size() + text_bytes(value) + 64;
    return bytes + action.expected.size() * sizeof(expected_member);
}

std::size_t bytes_of(rotate_key const& action) {
    return action.start.size() + action.last4.size();
}

}  // namespace latchkey::domain
