#include <algorithm>

#include "base/limits.hpp"
#include "store/commands.hpp"

namespace latchkey::store {
namespace {

using base::problem;

// Workers drop what they cached of the key when they see the epoch move.
void note_change(transaction& in, model::digest const& digest) {
    auto const epoch = ++in.heads().key_epoch;
    encode(key_change{epoch, digest}, in.scratch);
    in.put(table::index, change_key(epoch), in.scratch);
    in.vouched = {};
}

// Bounds that the record's encoding has; handlers refuse what is beyond them long before.
bool can_be_kept(model::key const& key) {
    auto const is_short = [](std::string const& text) {
        return text.size() <= model::metadata_bytes_max;
    };
    return is_short(key.name) && is_short(key.project) && is_short(key.start) &&
           is_short(key.last4) && key.rate_limits.size() <= model::rate_limits_max &&
           key.ip_allowlist.size() <= model::ip_allowlist_max &&
           key.metadata.size() <= model::metadata_members_max &&
           std::ranges::all_of(key.metadata, [&](auto const& member) {
               return is_short(member.first) && is_short(member.second);
           });
}

// Nobody gives what he does not have (API §4).
bool may_give(transaction& in, model::id caller, model::scope_set const& scopes) {
    if (caller == 0) return true;
    auto const bytes = in.get(table::index, key_key(caller));
    auto const key = bytes ? model::decode_key(caller, *bytes) : std::nullopt;
    return key && key->scopes.covers(scopes);
}

}  // namespace

outcome run(transaction& in, create_key const& what, command const& whole) {
    if (!whole.faults.empty()) return invalid(whole.faults);
    if (!may_give(in, whole.caller, what.record.scopes))
        return refused(problem::insufficient_scope,
                       "A key can only give scopes that its own scopes cover.");
    if (in.has(table::index, digest_key(what.record.digest)))
        return invalid({{.at = "/digest",
                         .code = base::field_code::invalid_format,
                         .detail = "There is a key with this digest already."}});
    if (!can_be_kept(what.record)) return refused(problem::internal_error);
    if (in.heads().last_key >= base::limits::id_max) return refused(problem::storage_full);
    if (auto const full = no_room(in, true)) return refused(*full);

    auto key = what.record;
    key.id = in.heads().last_key + 1;
    key.created_at = in.now();
    key.created_by = whole.caller;
    key.limit_slots.clear();
    for (std::size_t i = 0; i < key.rate_limits.size(); ++i)
        key.limit_slots.push_back(static_cast<std::uint8_t>(i));
    encode(key, in.scratch);
    in.put(table::index, key_key(key.id), in.scratch);
    std::array<char, 8> id;
    in.put(table::index, digest_key(key.digest), id_value(key.id, id));
    note_change(in, key.digest);
    in.heads().last_key = key.id;
    ++in.heads().keys;
    if (key.start.empty()) ++in.heads().imported_keys;
    return {.record = std::move(key)};
}

}  // namespace latchkey::store
