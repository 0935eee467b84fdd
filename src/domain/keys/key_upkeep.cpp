// What the store as a whole does with keys.
#include <algorithm>

#include "domain/audit/audit.hpp"
#include "domain/frame/consistency_check.hpp"
#include "domain/frame/time_sweep.hpp"
#include "domain/keys/key_kind.hpp"
#include "domain/keys/key_notice.hpp"
#include "domain/keys/key_record.hpp"

namespace latchkey::domain {
namespace {

using base::wall_ms;

// A key that was created after now begins now. Times before its creation were not made by the wrong
// clock. The creation of its successor, which has a higher id and so is redated later, is the time
// of the rotation.
model::key redated(transaction& txn, model::key key, wall_ms now) {
    auto const advance = key.created_at - now;
    if (advance > 0) {
        for (auto* const time : {&key.not_before, &key.expires_at})
            if (*time > key.created_at) *time -= advance;
        key.created_at = now;
    }
    clamp(key.deactivated_at, now);
    model::key successor;
    bool const replaced =
        key.replaced_by != 0 && read_key(txn, key.replaced_by, successor) == base::problem::none;
    if (replaced && successor.created_at > now && key.rotation_ends_at > now)
        key.rotation_ends_at -= std::min(successor.created_at, key.rotation_ends_at) - now;
    return key;
}

bool is_late_key(std::string_view bytes, std::string_view value, wall_ms now) {
    auto const id = read_id(bytes);
    auto const key = id ? model::decode_key(*id, value) : std::nullopt;
    return key && std::max({key->created_at, key->deactivated_at, key->rotation_ends_at}) > now;
}

bool redate_key(transaction& txn, std::string_view bytes, wall_ms now) {
    model::key old_key;
    if (read_key(txn, read_id(bytes).value_or(0), old_key) != base::problem::none) return false;
    auto const key = redated(txn, old_key, now);
    if (key.created_at == old_key.created_at && key.deactivated_at == old_key.deactivated_at &&
        key.rotation_ends_at == old_key.rotation_ends_at)
        return false;
    put_key(txn, &old_key, key);
    return true;
}

bool is_late_last_use(std::string_view, std::string_view value, wall_ms now) {
    return read_id(value).value_or(0) > now;
}

bool redate_last_use(transaction& txn, std::string_view suffix, wall_ms now) {
    std::array<char, 8> value;
    txn.put(table::index, key_bytes{tag::key_use}.add(suffix), id_value(now, value));
    return true;
}

// Events that were recorded because of the wrong clock and have not happened yet are recorded again
// when they do. They are not counted in the report, since nobody sees these records.
key_notice redated_notice(std::string_view value, wall_ms now) {
    auto notice = decode_key_notice(value).value_or(key_notice{});
    for (auto* const time : {&notice.told_until, &notice.limited_at, &notice.exposed_at})
        clamp(*time, now);
    return notice;
}

bool is_late_notice(std::string_view key, std::string_view value, wall_ms now) {
    if (key.empty()) return read_id(value).value_or(0) > now;
    return redated_notice(value, now) != decode_key_notice(value).value_or(key_notice{});
}

bool redate_notice(transaction& txn, std::string_view suffix, wall_ms now) {
    auto const key = key_bytes{tag::key_notice}.add(suffix);
    auto const bytes = txn.get(table::index, key);
    if (!bytes) return false;
    std::array<char, 8> value;
    if (suffix.empty()) {
        txn.put(table::index, key, id_value(now, value));
    } else {
        encode(redated_notice(*bytes, now), txn.scratch);
        txn.put(table::index, key, txn.scratch);
    }
    return true;
}

void check_all_keys(consistency_check& check) {
    check_keys(check);
    check_key_lists(check);
}

constexpr tag key_tags[] = {
    tag::key,      tag::key_digest,     tag::key_change, tag::key_use,    tag::key_admin,
    tag::key_list, tag::key_list_count, tag::key_start,  tag::key_notice, tag::sessions_generation};
constexpr time_sweep key_sweeps[] = {
    {table::index, tag::key, is_late_key, redate_key, {"keys", "key", "keys"}},
    {table::index,
     tag::key_use,
     is_late_last_use,
     redate_last_use,
     {"last_uses", "last use of a key", "last uses of keys"}},
    {table::index, tag::key_notice, is_late_notice, redate_notice}};
constexpr change_name key_changes[] = {{model::change_type::key_created, "key.created"},
                                       {model::change_type::key_updated, "key.updated"},
                                       {model::change_type::key_rotated, "key.rotated"},
                                       {model::change_type::key_deactivated, "key.deactivated"},
                                       {model::change_type::key_reactivated, "key.reactivated"},
                                       {model::change_type::key_activated, "key.activated"},
                                       {model::change_type::key_expiring, "key.expiring"},
                                       {model::change_type::key_expired, "key.expired"},
                                       {model::change_type::key_limited, "key.limited"},
                                       {model::change_type::key_exposed, "key.exposed"},
                                       {model::change_type::key_unused, "key.unused"}};
constexpr audit_name key_audit[] = {{audit_action::key_create, "key.create"},
                                    {audit_action::key_import, "key.import"},
                                    {audit_action::key_change, "key.change"},
                                    {audit_action::key_rotate, "key.rotate"},
                                    {audit_action::key_deactivate, "key.deactivate"},
                                    {audit_action::key_reactivate, "key.reactivate"},
                                    {audit_action::key_end_sessions, "key.end_sessions"}};

}  // namespace

constinit kind const key_kind{.tags = key_tags,
                              .check = check_all_keys,
                              .sweeps = key_sweeps,
                              .changes = key_changes,
                              .audited = key_audit};

void kept_record<revocation>::append(std::string& output, revocation const& record) {
    base::append(output, record.key.id);
    for (auto const* const list : {&record.keys, &record.webhooks}) {
        base::append(output, static_cast<std::uint16_t>(list->size()));
        for (auto const id : *list) base::append(output, id);
    }
    base::append(output, static_cast<std::uint8_t>(record.is_complete ? 1 : 0));
    std::string bytes;
    encode(record.key, bytes);
    output.append(bytes);
}

std::optional<revocation> kept_record<revocation>::read(base::reader& reader) {
    auto const id = reader.integer<model::id>();
    revocation record;
    for (auto* const list : {&record.keys, &record.webhooks})
        for (auto left = reader.integer<std::uint16_t>(); left > 0 && reader.ok(); --left)
            list->push_back(reader.integer<model::id>());
    record.is_complete = reader.integer<std::uint8_t>() == 1;
    auto key = model::decode_key(id, reader.rest());
    if (!reader.ok() || !key) return std::nullopt;
    record.key = std::move(*key);
    return record;
}

}  // namespace latchkey::domain
