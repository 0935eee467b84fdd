#include "store/event_record.hpp"

#include <algorithm>

#include "base/limits.hpp"

namespace latchkey::store {
namespace {

// Removing a payload frees its pages and reads none of them.
constexpr std::size_t payload_bytes_per_weight = 64 * base::limits::kib;
// In weight: a few milliseconds, which whoever writes next may have to wait.
constexpr std::size_t expired_per_commit_max = 256;
constexpr std::size_t mark_bytes = std::tuple_size_v<model::event_mark>;

template <class Each>
void for_each_mark(std::string_view marks, Each each) {
    for (; marks.size() >= mark_bytes; marks.remove_prefix(mark_bytes))
        each(marks.substr(0, mark_bytes));
}

event_head head_of(transaction& in) {
    auto const head = decode_event_head(in.get(table::index, key_bytes{tag::event_head}));
    if (!head) in.fail(MDB_CORRUPTED);
    return head.value_or(event_head{});
}

void put_head(transaction& in, event_head const& head) {
    encode(head, in.scratch);
    in.put(table::index, key_bytes{tag::event_head}, in.scratch);
}

// A source without events has no count.
void count(transaction& in, std::string_view source, std::int64_t step) {
    auto const at = event_count_key(source);
    auto const number = static_cast<std::int64_t>(event_count(in.get(table::index, at))) + step;
    std::array<char, 8> value;
    number <= 0 ? void(in.erase(table::index, at))
                : in.put(table::index, at, id_value(number, value));
}

}  // namespace

void encode(event_head const& head, std::string& to) {
    to.clear();
    base::append(to, head.last);
    base::append(to, head.count);
}

std::optional<event_head> decode_event_head(std::optional<std::string_view> bytes) {
    if (!bytes) return event_head{};
    base::reader from(*bytes);
    event_head head;
    head.last = from.integer<model::id>();
    head.count = from.integer<std::uint64_t>();
    if (!from.done()) return std::nullopt;
    return head;
}

std::optional<marked_event> decode_marked_event(std::string_view bytes) {
    base::reader from(bytes);
    marked_event found;
    found.id = from.integer<model::id>();
    found.at = from.integer<base::wall_ms>();
    if (!from.done()) return std::nullopt;
    return found;
}

// Ids ascend with the time of receipt, so the oldest stand in front. One that cannot be read stays,
// and all behind it: `latchkey check` tells.
bool expire_events(transaction& in, std::size_t most) {
    auto const kept = in.store().event_retention_ms;
    most = std::min(most, expired_per_commit_max);
    while (kept != 0 && in.failure() == 0) {
        auto const id = in.first_id(table::events);
        auto const bytes = id ? in.get(table::events, id_key(*id)) : std::nullopt;
        auto const event = bytes ? model::decode_event(*id, *bytes) : std::nullopt;
        if (!event || event->received_at > in.now() - kept) return false;
        if (most == 0) return true;
        auto const weight = 1 + event->payload.size() / payload_bytes_per_weight;
        erase_event(in, *id);
        in.weigh(weight);
        most -= std::min(most, weight);
    }
    return false;
}

std::uint64_t event_count(std::optional<std::string_view> bytes) {
    return bytes ? static_cast<std::uint64_t>(read_id(*bytes).value_or(0)) : 0;
}

void put_event(transaction& in, model::event_view const& event) {
    auto head = head_of(in);
    encode(event, in.scratch);
    in.append(table::events, id_key(event.id), in.scratch);
    in.put(table::index, events_of(event.source).add(event.id), {});
    in.scratch.clear();
    base::append(in.scratch, event.id);
    base::append(in.scratch, event.received_at);
    for_each_mark(event.marks, [&](std::string_view mark) {
        in.put(table::index, event_mark_key(event.source, mark), in.scratch);
    });
    count(in, event.source, 1);
    head.last = event.id;
    ++head.count;
    put_head(in, head);
}

void erase_event(transaction& in, model::id id) {
    auto const bytes = in.get(table::events, id_key(id));
    auto const event = bytes ? model::decode_event(id, *bytes) : std::nullopt;
    std::string const source(event ? event->source : std::string_view());
    std::string const marks(event ? event->marks : std::string_view());
    if (!in.erase(table::events, id_key(id))) return;
    auto head = head_of(in);
    --head.count;
    put_head(in, head);
    if (!event) return;
    in.erase(table::index, events_of(source).add(id));
    for_each_mark(marks, [&](std::string_view mark) {
        auto const at = event_mark_key(source, mark);
        auto const entry = in.get(table::index, at);
        auto const leads = entry ? decode_marked_event(*entry) : std::nullopt;
        // A later event with the same mark may have taken it over.
        if (leads && leads->id == id) in.erase(table::index, at);
    });
    count(in, source, -1);
}

}  // namespace latchkey::store
