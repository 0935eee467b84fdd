#include "domain/events/event_index.hpp"

namespace latchkey::domain {

void encode(event_head const& head, std::string& output) {
    output.clear();
    base::append(output, head.last);
    base::append(output, head.count);
}

std::optional<event_head> decode_event_head(std::optional<std::string_view> bytes) {
    if (!bytes) return event_head{};
    base::reader reader(*bytes);
    event_head head;
    head.last = reader.integer<model::id>();
    head.count = reader.integer<std::uint64_t>();
    if (!reader.done()) return std::nullopt;
    return head;
}

std::optional<marked_event> decode_marked_event(std::string_view bytes) {
    base::reader reader(bytes);
    marked_event event;
    event.id = reader.integer<model::id>();
    event.received_at = reader.integer<base::wall_ms>();
    if (!reader.done()) return std::nullopt;
    return event;
}

std::uint64_t event_count(std::optional<std::string_view> bytes) {
    return bytes ? static_cast<std::uint64_t>(read_id(*bytes).value_or(0)) : 0;
}

}  // namespace latchkey::domain
