#include "domain/events/event_record.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "domain/events/event_index.hpp"

namespace latchkey::domain {
namespace {

// Removing a payload frees its pages and reads none of them.
constexpr std::size_t payload_bytes_per_weight = 64 * base::limits::kib;
// In weight: a few milliseconds, for which the next command may have to wait.
constexpr std::size_t expired_events_per_commit_max = 256;

template <class Each>
void for_each_mark(std::string_view marks, Each each) {
    for (; marks.size() >= mark_bytes; marks.remove_prefix(mark_bytes))
        each(marks.substr(0, mark_bytes));
}

event_head head_of(transaction& txn) {
    auto const head = decode_event_head(txn.get(table::index, key_bytes{tag::event_head}));
    if (!head) txn.fail(MDB_CORRUPTED);
    return head.value_or(event_head{});
}

void put_head(transaction& txn, event_head const& head) {
    encode(head, txn.scratch);
    txn.put(table::index, key_bytes{tag::event_head}, txn.scratch);
}

// A source without events has no count.
void adjust_count(transaction& txn, std::string_view source, std::int64_t step) {
    auto const key = event_count_key(source);
    auto const number = static_cast<std::int64_t>(event_count(txn.get(table::index, key))) + step;
    std::array<char, 8> value;
    number <= 0 ? void(txn.erase(table::index, key))
                : txn.put(table::index, key, id_value(number, value));
}

}  // namespace

// Ids ascend with the time of receipt, so the oldest come first. An unreadable event stays, and so
// do all after it; `latchkey check` reports it.
bool expire_events(transaction& txn, std::size_t limit) {
    auto const retention = txn.store().event_retention_ms;
    limit = std::min(limit, expired_events_per_commit_max);
    while (retention != 0 && txn.ok()) {
        auto const id = txn.first_id(table::events);
        auto const bytes = id ? txn.find(table::events, id_key(*id)) : std::nullopt;
        auto const event = bytes ? model::decode_event(*id, *bytes) : std::nullopt;
        if (!event || event->received_at > txn.age_time() - retention || !txn.capacity().write)
            return false;
        if (limit == 0) return true;
        auto const weight = 1 + event->payload.size() / payload_bytes_per_weight;
        erase_event(txn, *id);
        txn.add_weight(weight);
        limit -= std::min(limit, weight);
    }
    return false;
}

void put_event(transaction& txn, model::event_view const& event) {
    auto head = head_of(txn);
    encode(event, txn.scratch);
    txn.append(table::events, id_key(event.id), txn.scratch);
    txn.put(table::index, events_of(event.source).add(event.id), {});
    txn.scratch.clear();
    base::append(txn.scratch, event.id);
    base::append(txn.scratch, event.received_at);
    for_each_mark(event.marks, [&](std::string_view mark) {
        txn.put(table::index, event_mark_key(event.source, mark), txn.scratch);
    });
    adjust_count(txn, event.source, 1);
    head.last = event.id;
    ++head.count;
    put_head(txn, head);
}

void redate_event(transaction& txn, model::event_view const& event, base::wall_ms received_at) {
    auto copy = event;
    copy.received_at = received_at;
    std::string const source(event.source), marks(event.marks);
    encode(copy, txn.scratch);
    txn.put(table::events, id_key(copy.id), txn.scratch);
    for_each_mark(marks, [&](std::string_view mark) {
        auto const key = event_mark_key(source, mark);
        auto const entry = txn.get(table::index, key);
        auto const marked = entry ? decode_marked_event(*entry) : std::nullopt;
        if (!marked || marked->id != copy.id) return;
        txn.scratch.clear();
        base::append(txn.scratch, copy.id);
        base::append(txn.scratch, received_at);
        txn.put(table::index, key, txn.scratch);
    });
}

void erase_event(transaction& txn, model::id id) {
    auto const bytes = txn.find(table::events, id_key(id));
    auto const event = bytes ? model::decode_event(id, *bytes) : std::nullopt;
    std::string const source(event ? event->source : std::string_view());
    std::string const marks(event ? event->marks : std::string_view());
    if (!txn.erase(table::events, id_key(id))) return;
    auto head = head_of(txn);
    --head.count;
    put_head(txn, head);
    if (!event) return;
    txn.erase(table::index, events_of(source).add(id));
    for_each_mark(marks, [&](std::string_view mark) {
        auto const key = event_mark_key(source, mark);
        auto const entry = txn.find(table::index, key);
        auto const marked = entry ? decode_marked_event(*entry) : std::nullopt;
        // A later event with the same mark may own the entry now.
        if (marked && marked->id == id) txn.erase(table::index, key);
    });
    adjust_count(txn, source, -1);
}

}  // namespace latchkey::domain
