// Making keys and changing their settings. States are key_states.cpp's, rotation is rotation.cpp's.
#include <algorithm>

#include "base/limits.hpp"
#include "store/audit_log.hpp"
#include "store/giver.hpp"
#include "store/key_record.hpp"

namespace latchkey::store {
namespace {

using base::field_code;
using base::problem;
using faults = std::vector<base::fault>;

void add(faults& to, std::string_view pointer, field_code code, std::string_view detail) {
    to.push_back({.at = std::string(pointer), .code = code, .detail = std::string(detail)});
}

using member_value = std::variant<std::monostate, std::int64_t, std::string>;

member_value text_value(std::string_view text) {
    return text.empty() ? member_value{} : member_value{std::string(text)};
}
member_value number_value(std::int64_t number) {
    return number == 0 ? member_value{} : member_value{number};
}

// What a read-only member is now; null for names that are no such member.
member_value value_of(model::key const& key, std::string_view name, base::wall_ms now) {
    auto const end = key.ending_at(now);
    if (name == "id") return number_value(key.id);
    if (name == "project") return text_value(key.project);
    if (name == "start") return text_value(key.start);
    if (name == "last4") return text_value(key.last4);
    if (name == "state") return text_value(model::name_of(key.state_at(now)));
    if (name == "created_at") return number_value(key.created_at);
    if (name == "created_by") return number_value(key.created_by);
    if (name == "deactivated_at") return number_value(end.at);
    if (name == "deactivation_reason") return text_value(model::name_of(end.reason));
    if (name == "replaces") return number_value(key.replaces);
    if (name == "replaced_by") return number_value(key.replaced_by);
    if (name == "rotation_ends_at") return number_value(key.rotation_ends_at);
    return {};
}

// A limit keeps its slot by name, so that its bucket stays what it is; a new one gets a slot that
// nobody had, if there is one.
std::vector<std::uint8_t> slots_for(std::vector<model::rate_limit> const& limits,
                                    model::key const& before) {
    constexpr std::uint8_t none = 0xff;
    std::vector<std::uint8_t> slots(limits.size(), none);
    unsigned kept = 0, had = 0;
    for (std::size_t i = 0; i < before.rate_limits.size(); ++i) {
        had |= 1u << before.limit_slots[i];
        auto const same =
            std::ranges::find(limits, before.rate_limits[i].name, &model::rate_limit::name);
        if (same == limits.end()) continue;
        slots[static_cast<std::size_t>(same - limits.begin())] = before.limit_slots[i];
        kept |= 1u << before.limit_slots[i];
    }
    for (auto& slot : slots) {
        if (slot != none) continue;
        unsigned const taken = (had | kept) == 0xffu ? kept : had | kept;
        slot = static_cast<std::uint8_t>(__builtin_ctz(~taken));
        kept |= 1u << slot, had |= 1u << slot;
    }
    return slots;
}

model::key changed(model::key const& before, change_key const& what) {
    auto key = before;
    if (what.name) key.name = *what.name;
    if (what.environment) key.environment = *what.environment;
    if (what.scopes) key.scopes = *what.scopes;
    if (what.not_before) key.not_before = *what.not_before;
    if (what.expires_at) key.expires_at = *what.expires_at;
    if (what.ip_allowlist) key.ip_allowlist = *what.ip_allowlist;
    if (what.rate_limits && *what.rate_limits != before.rate_limits) {
        key.rate_limits = *what.rate_limits;
        key.limit_slots = slots_for(key.rate_limits, before);
    }
    if (what.clear_metadata) key.metadata.clear();
    for (auto const& [name, value] : what.metadata)
        value ? void(key.metadata[name] = *value) : void(key.metadata.erase(name));
    return key;
}

std::vector<std::string> differences(model::key const& before, model::key const& after) {
    std::vector<std::string> fields;
    auto const compare = [&](bool same, char const* name) {
        if (!same) fields.emplace_back(name);
    };
    compare(before.name == after.name, "name");
    compare(before.environment == after.environment, "environment");
    compare(before.scopes == after.scopes, "scopes");
    compare(before.not_before == after.not_before, "not_before");
    compare(before.expires_at == after.expires_at, "expires_at");
    compare(before.rate_limits == after.rate_limits, "rate_limits");
    compare(before.ip_allowlist == after.ip_allowlist, "ip_allowlist");
    compare(before.metadata == after.metadata, "metadata");
    return fields;
}

// What is wrong with the settings as a whole, and with members that cannot be changed.
faults judge_change(change_key const& what, model::key const& before, model::key const& after,
                    base::wall_ms now) {
    faults found;
    for (auto const& each : what.expected)
        if (value_of(before, each.name, now) != each.value)
            add(found, "/" + each.name, field_code::read_only_field,
                "This member is assigned by the service; it can only be sent back unchanged.");
    bool const moved =
        before.expires_at != after.expires_at || before.not_before != after.not_before;
    if (moved && after.expires_at != 0 && after.expires_at <= after.not_before)
        add(found, what.expires_at ? "/expires_at" : "/not_before", field_code::out_of_range,
            "expires_at must be after not_before.");
    else if (before.expires_at != after.expires_at && after.expires_at != 0 &&
             after.expires_at <= now)
        add(found, "/expires_at", field_code::out_of_range, "must be in the future");
    std::size_t bytes = 0;
    for (auto const& [name, value] : after.metadata) bytes += name.size() + value.size();
    if (after.metadata.size() > model::metadata_members_max || bytes > model::metadata_bytes_max)
        add(found, "/metadata", field_code::too_long, "must have at most 50 members and 16 KiB");
    return found;
}

// Does a change take from a key what makes it able to manage keys, now or earlier than before?
bool weakens(model::key const& before, model::key const& after, base::wall_ms now) {
    bool const sooner =
        after.expires_at != 0 && (before.expires_at == 0 || after.expires_at < before.expires_at);
    return sooner || !after.scopes.allows(model::scope::keys_write) ||
           after.state_at(now) != model::key_state::active;
}

}  // namespace

outcome run(transaction& in, create_key const& what, command const& whole) {
    if (!whole.faults.empty()) return invalid(whole.faults);
    if (auto no = giver(in, whole).objection_to_making(what.record))
        return refused(problem::insufficient_scope, std::move(*no));
    if (auto no = unmet(whole)) return std::move(*no);
    if (in.has(table::index, digest_key(what.record.digest)))
        return invalid({{.at = "/digest",
                         .code = field_code::invalid_format,
                         .detail = "There is a key with this digest already."}});
    if (!can_be_kept(what.record)) return refused(problem::internal_error);
    if (in.heads().last_key >= base::limits::id_max) return refused(problem::storage_full);
    if (auto const full = no_room(in, true)) return refused(*full);

    auto key = what.record;
    key.id = in.heads().last_key + 1;
    key.created_at = in.now();
    key.created_by = whole.caller;
    key.limit_slots = slots_for(key.rate_limits, {.rate_limits = {}});
    put_key(in, nullptr, key);
    note(in, whole, key.start.empty() ? audit_action::key_import : audit_action::key_create, key,
         {});
    return {.record = std::move(key)};
}

outcome run(transaction& in, change_key const& what, command const& whole) {
    giver const by(in, whole);
    model::key before;
    auto const found = read_key(in, what.id, before);
    if (found == problem::internal_error) return refused(found);
    if (found != problem::none || !by.sees(before))
        return missing(whole, "There is no key " + std::to_string(what.id) + ".");
    if (auto no = by.objection(before.scopes))
        return refused(problem::insufficient_scope, std::move(*no));

    auto const tag = [&] { return model::tag_of(before, in.now()); };
    if (whole.faults.empty())
        if (auto no = unmet(whole, tag)) return std::move(*no);
    auto const after = changed(before, what);
    auto wrong = whole.faults;
    for (auto& each : judge_change(what, before, after, in.now())) wrong.push_back(std::move(each));
    if (!wrong.empty()) return invalid(std::move(wrong));
    if (auto no = by.objection_to_change(before, after))
        return refused(problem::insufficient_scope, std::move(*no));
    if (whole.caller != 0 && weakens(before, after, in.now()) && is_last_admin(in, before))
        return refused(problem::last_admin_key);
    auto fields = differences(before, after);
    if (fields.empty()) return shown(in, std::move(before));
    if (!can_be_kept(after)) return refused(problem::internal_error);
    if (auto const full = no_room(in, true)) return refused(*full);

    put_key(in, &before, after);
    note(in, whole, audit_action::key_change, after, std::move(fields));
    return shown(in, after);
}

}  // namespace latchkey::store
