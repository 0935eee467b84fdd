#include "domain/keys/key_notice.hpp"

#include <algorithm>

#include "domain/changes/change_log.hpp"
#include "domain/keys/key_record.hpp"

namespace latchkey::domain {
namespace {

using base::wall_ms;
using model::change_type;

constexpr std::uint8_t notice_version = 1;
constexpr wall_ms limited_interval = 3'600'000, exposed_interval = 24 * 3'600'000;

// A damaged record counts as none: something is told once more.
key_notice read_notice(transaction& txn, model::id id) {
    auto const bytes = txn.find(table::index, key_notice_key(id));
    return bytes ? decode_key_notice(*bytes).value_or(key_notice{}) : key_notice{};
}

void put_notice(transaction& txn, model::id id, key_notice const& notice) {
    encode(notice, txn.scratch);
    txn.put(table::index, key_notice_key(id), txn.scratch);
}

// A key that is turned off is used by nobody; what comes with it says nothing new.
void tell_use(transaction& txn, change_type type, model::id id, wall_ms key_notice::* last,
              wall_ms interval) {
    if (!txn.records_changes()) return;
    auto notice = read_notice(txn, id);
    if (notice.*last != 0 && txn.now() - notice.*last < interval) return;
    auto const bytes = txn.find(table::index, key_key(id));
    auto const key = bytes ? model::decode_key(id, *bytes) : std::nullopt;
    if (!key || key->ending_at(txn.now()).reason != model::deactivation::none) return;
    note_change(txn, type, 0, *key);
    notice.*last = txn.now();
    put_notice(txn, id, notice);
}

// Collects times after `start`.
struct collector {
    wall_ms start, now;
    key_times result;

    void add(change_type type, wall_ms time) {
        if (time == 0 || time <= start) return;
        result.next = std::min(result.next, time);
        bool const is_told = result.count != 0 && result.types[result.count - 1] == type;
        if (time <= now && !is_told) result.types[result.count++] = type;
    }
};

}  // namespace

void encode(key_notice const& notice, std::string& output) {
    output.clear();
    base::append(output, notice_version);
    for (auto const time : {notice.told_until, notice.limited_at, notice.exposed_at})
        base::append(output, time);
}

std::optional<key_notice> decode_key_notice(std::string_view bytes) {
    base::reader input(bytes);
    if (input.integer<std::uint8_t>() != notice_version) return std::nullopt;
    key_notice notice;
    for (auto* const time : {&notice.told_until, &notice.limited_at, &notice.exposed_at})
        *time = input.integer<wall_ms>();
    if (!input.done()) return std::nullopt;
    return notice;
}

// A key that was turned off has no further events, one that has expired has only that one. Several
// thresholds that have passed since are recorded as one event.
key_times times_of(model::key const& key, wall_ms last_use, wall_ms start, wall_ms now,
                   key_time_rules const& rules) {
    collector times{start, now, {}};
    if (key.deactivation_reason != model::deactivation::none || key.deactivated_at != 0)
        return times.result;
    times.add(change_type::key_deactivated, key.rotation_ends_at);
    if (key.rotation_ends_at != 0 && now >= key.rotation_ends_at) return times.result;
    times.add(change_type::key_activated, key.not_before);
    times.add(change_type::key_expired, key.expires_at);
    if (key.expires_at != 0 && now >= key.expires_at) return times.result;
    if (key.expires_at != 0)
        for (auto const lead : rules.expiring_ms)
            times.add(change_type::key_expiring, key.expires_at - lead);
    if (rules.unused_ms != 0)
        times.add(change_type::key_unused,
                  std::max({last_use, key.created_at, key.not_before}) + rules.unused_ms);
    return times.result;
}

wall_ms begin_of_key_times(transaction& txn) {
    auto const bytes = txn.find(table::index, key_bytes{tag::key_notice});
    return bytes ? read_id(*bytes).value_or(txn.now()) : txn.now();
}

void begin_key_times(transaction& txn) {
    auto const key = key_bytes{tag::key_notice};
    if (txn.find(table::index, key)) return;
    std::array<char, 8> value;
    txn.put(table::index, key, id_value(txn.now(), value));
}

std::size_t tell_times(transaction& txn, model::key const& key) {
    if (!txn.records_changes()) return 0;
    auto notice = read_notice(txn, key.id);
    auto const start = std::max({notice.told_until, key.created_at, begin_of_key_times(txn)});
    auto const times =
        times_of(key, last_use_of(txn, key.id), start, txn.now(), txn.store().key_times);
    if (times.count == 0) return 0;
    std::size_t bytes = 0;
    for (auto const type : times.due()) {
        note_change(txn, type, 0, key);
        bytes += txn.change_scratch.size();
    }
    notice.told_until = txn.now();
    put_notice(txn, key.id, notice);
    return bytes;
}

void tell_times_before_change(transaction& txn, model::key const& old_key) {
    if (!txn.records_changes()) return;
    tell_times(txn, old_key);
    auto notice = read_notice(txn, old_key.id);
    notice.told_until = txn.now();
    put_notice(txn, old_key.id, notice);
}

void tell_end_of_rotation(transaction& txn, model::key const& key) {
    if (!txn.records_changes()) return;
    note_change(txn, change_type::key_deactivated, 0, key);
    auto notice = read_notice(txn, key.id);
    notice.told_until = txn.now();
    put_notice(txn, key.id, notice);
}

void tell_limited(transaction& txn, model::id id) {
    tell_use(txn, change_type::key_limited, id, &key_notice::limited_at, limited_interval);
}

void tell_exposed(transaction& txn, model::id id) {
    tell_use(txn, change_type::key_exposed, id, &key_notice::exposed_at, exposed_interval);
}

}  // namespace latchkey::domain
