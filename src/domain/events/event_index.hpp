// The entries of the index about events: counts, and where marks lead. Values, any thread; private
// to the store.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/store_terms.hpp"
#include "model/event.hpp"
#include "store/layout.hpp"

namespace latchkey::domain {

// The last id that an event got, and the number of events.
struct event_head {
    model::id last = 0;
    std::uint64_t count = 0;
};
void encode(event_head const& head, std::string& output);
// nullopt: damaged. Without bytes (the store never had an event) zeros.
std::optional<event_head> decode_event_head(std::optional<std::string_view> bytes);

// Of a mark, in an event's record and in the index.
inline constexpr std::size_t mark_bytes = std::tuple_size_v<model::event_mark>;

// The event that a mark leads to.
struct marked_event {
    model::id id = 0;
    base::wall_ms received_at = 0;
};
std::optional<marked_event> decode_marked_event(std::string_view bytes);

// The number of events of a source, from the bytes under tag::event_count.
std::uint64_t event_count(std::optional<std::string_view> bytes);

}  // namespace latchkey::domain
