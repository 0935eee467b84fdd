#include "domain/keys/key_record.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/frame/rejection.hpp"
#include "domain/keys/key_list.hpp"

namespace latchkey::domain {
namespace {

// Workers drop the key from their caches when they see a new epoch.
void note_cache_change(transaction& txn, model::digest const& digest) {
    auto const epoch = ++txn.counters().key_epoch;
    encode(key_change{epoch, digest}, txn.scratch);
    txn.put(table::index, key_change_key(epoch), txn.scratch);
}

bool is_deactivated(model::key const& key) {
    return key.deactivation_reason != model::deactivation::none;
}

// Does the key belong to the index of keys that may manage keys? Deactivated keys do not; states
// that depend on the clock are evaluated when the index is read.
bool manages_keys(model::key const& key) {
    return key.scopes.allows(model::scope::keys_write) && !is_deactivated(key);
}

void adjust_count(transaction& txn, key_list const& list, std::int64_t step) {
    auto const key = key_list_key(tag::key_list_count, list);
    auto const bytes = txn.get(table::index, key);
    auto const number = (bytes ? read_id(*bytes).value_or(0) : 0) + step;
    std::array<char, 8> value;
    txn.put(table::index, key, id_value(number, value));
}

void add_to_list(transaction& txn, key_list const& list, model::id id) {
    txn.put(table::index, key_list_key(tag::key_list, list).add(id), {});
    adjust_count(txn, list, 1);
}

void remove_from_list(transaction& txn, key_list const& list, model::id id) {
    txn.erase(table::index, key_list_key(tag::key_list, list).add(id));
    adjust_count(txn, list, -1);
}

void update_lists(transaction& txn, model::key const* old_key, model::key const& new_key) {
    if (old_key == nullptr) {
        add_to_list(txn, {new_key.project, std::nullopt}, new_key.id);
        if (!new_key.start.empty())
            txn.put(table::index, keys_with_start(new_key.start).add(new_key.id), {});
    } else if (old_key->environment == new_key.environment) {
        return;
    } else {
        remove_from_list(txn, {{}, old_key->environment}, new_key.id);
        remove_from_list(txn, {old_key->project, old_key->environment}, new_key.id);
    }
    add_to_list(txn, {{}, new_key.environment}, new_key.id);
    add_to_list(txn, {new_key.project, new_key.environment}, new_key.id);
}

}  // namespace

base::problem read_key(transaction& txn, model::id id, model::key& key) {
    auto const bytes = txn.get(table::index, key_key(id));
    if (!bytes) return base::problem::not_found;
    auto decoded = model::decode_key(id, *bytes);
    if (!decoded) return base::problem::internal_error;
    key = std::move(*decoded);
    return base::problem::none;
}

bool is_storable(model::key const& key) {
    auto const is_short = [](std::string const& text) {
        return text.size() <= model::metadata_bytes_max;
    };
    bool const is_bearer = key.kind == model::key_kind::jwt;
    if (is_bearer && (!model::is_claim_text(key.issuer, model::issuer_bytes_max) ||
                      !model::is_claim_text(key.subject, model::subject_bytes_max)))
        return false;
    return is_short(key.name) && model::is_project(key.project) && key.start.size() <= 8 &&
           key.last4.size() <= 4 && key.rate_limits.size() <= model::rate_limits_max &&
           key.ip_allowlist.size() <= model::ip_allowlist_max &&
           key.metadata.size() <= model::metadata_members_max &&
           std::ranges::all_of(key.metadata, [&](auto const& member) {
               return is_short(member.first) && is_short(member.second);
           });
}

void put_key(transaction& txn, model::key const* old_key, model::key const& new_key) {
    encode(new_key, txn.scratch);
    txn.put(table::index, key_key(new_key.id), txn.scratch);
    update_lists(txn, old_key, new_key);
    if (old_key == nullptr) {
        std::array<char, 8> id;
        txn.put(table::index, digest_key(new_key.digest), id_value(new_key.id, id));
        txn.counters().last_key = new_key.id;
        ++txn.counters().keys;
        if (new_key.is_imported()) ++txn.counters().imported_keys;
    }
    bool const managed = old_key != nullptr && manages_keys(*old_key);
    if (managed != manages_keys(new_key))
        managed ? void(txn.erase(table::index, key_admin_key(new_key.id)))
                : txn.put(table::index, key_admin_key(new_key.id), {});
    note_cache_change(txn, new_key.digest);
    txn.note_urgency();
}

std::optional<outcome> check_key_ids(transaction& txn) {
    if (txn.counters().last_key < base::limits::key_id_max) return std::nullopt;
    return reject(base::problem::storage_full,
                  "All " + std::to_string(base::limits::key_id_max) +
                      " ids of keys are used up. Existing keys keep working, and one that is no "
                      "longer needed can be changed to serve in place of a new one.");
}

base::wall_ms last_use_of(transaction& txn, model::id id) {
    auto const bytes = txn.get(table::index, key_use_key(id));
    return bytes ? read_id(*bytes).value_or(0) : 0;
}

void note_change(transaction& txn, model::change_type type, model::id caller,
                 model::key const& key) {
    if (!txn.records_changes()) return;
    encode(key, txn.scratch);
    note_change(txn, change_view{.type = type,
                                 .key_id = caller,
                                 .project = key.project,
                                 .subject = key.id,
                                 .last_used_at = last_use_of(txn, key.id),
                                 .record = txn.scratch});
}

outcome key_result(transaction& txn, model::key key) {
    outcome result;
    result.last_used_at = last_use_of(txn, key.id);
    result.record = std::move(key);
    return result;
}

}  // namespace latchkey::domain
