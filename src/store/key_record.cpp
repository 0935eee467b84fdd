#include "store/key_record.hpp"

#include <algorithm>

namespace latchkey::store {
namespace {

// Workers drop what they cached of the key when they see the epoch move.
void note_change(transaction& in, model::digest const& digest) {
    auto const epoch = ++in.heads().key_epoch;
    encode(key_change{epoch, digest}, in.scratch);
    in.put(table::index, key_change_key(epoch), in.scratch);
    in.vouched = {};
}

// A key that is off for good or for a while manages nothing; what only the clock decides is asked
// when the index is read.
bool manages_keys(model::key const& key) {
    return key.scopes.allows(model::scope::keys_write) &&
           key.deactivation_reason == model::deactivation::none;
}

void count(transaction& in, key_list const& list, std::int64_t step) {
    auto const at = key_list_key(tag::key_list_count, list);
    auto const bytes = in.get(table::index, at);
    auto const number = (bytes ? read_id(*bytes).value_or(0) : 0) + step;
    std::array<char, 8> value;
    in.put(table::index, at, id_value(number, value));
}

void join(transaction& in, key_list const& list, model::id id) {
    in.put(table::index, key_list_key(tag::key_list, list).add(id), {});
    count(in, list, 1);
}

void leave(transaction& in, key_list const& list, model::id id) {
    in.erase(table::index, key_list_key(tag::key_list, list).add(id));
    count(in, list, -1);
}

void put_in_lists(transaction& in, model::key const* before, model::key const& after) {
    if (before == nullptr) {
        join(in, {after.project, std::nullopt}, after.id);
        if (!after.start.empty())
            in.put(table::index, keys_with_start(after.start).add(after.id), {});
    } else if (before->environment == after.environment) {
        return;
    } else {
        leave(in, {{}, before->environment}, after.id);
        leave(in, {before->project, before->environment}, after.id);
    }
    join(in, {{}, after.environment}, after.id);
    join(in, {after.project, after.environment}, after.id);
}

}  // namespace

base::problem read_key(transaction& in, model::id id, model::key& into) {
    auto const bytes = in.get(table::index, key_key(id));
    if (!bytes) return base::problem::not_found;
    auto decoded = model::decode_key(id, *bytes);
    if (!decoded) return base::problem::internal_error;
    into = std::move(*decoded);
    return base::problem::none;
}

bool can_be_kept(model::key const& key) {
    auto const is_short = [](std::string const& text) {
        return text.size() <= model::metadata_bytes_max;
    };
    return is_short(key.name) && model::is_project(key.project) && key.start.size() <= 8 &&
           key.last4.size() <= 4 && key.rate_limits.size() <= model::rate_limits_max &&
           key.ip_allowlist.size() <= model::ip_allowlist_max &&
           key.metadata.size() <= model::metadata_members_max &&
           std::ranges::all_of(key.metadata, [&](auto const& member) {
               return is_short(member.first) && is_short(member.second);
           });
}

void put_key(transaction& in, model::key const* before, model::key const& after) {
    encode(after, in.scratch);
    in.put(table::index, key_key(after.id), in.scratch);
    put_in_lists(in, before, after);
    if (before == nullptr) {
        std::array<char, 8> id;
        in.put(table::index, digest_key(after.digest), id_value(after.id, id));
        in.heads().last_key = after.id;
        ++in.heads().keys;
        if (after.start.empty()) ++in.heads().imported_keys;
    }
    bool const managed = before != nullptr && manages_keys(*before);
    if (managed != manages_keys(after))
        managed ? void(in.erase(table::index, key_admin_key(after.id)))
                : in.put(table::index, key_admin_key(after.id), {});
    note_change(in, after.digest);
}

base::wall_ms last_use_of(transaction& in, model::id id) {
    auto const bytes = in.get(table::index, key_use_key(id));
    return bytes ? read_id(*bytes).value_or(0) : 0;
}

outcome shown(transaction& in, model::key key) {
    outcome answer;
    answer.last_used_at = last_use_of(in, key.id);
    answer.record = std::move(key);
    return answer;
}

}  // namespace latchkey::store
