// An event's record inside a transaction, with what must move along: its place in the list of its
// source, its marks, the counts. Private to the store.
#pragma once

#include "store/commands.hpp"

namespace latchkey::store {

// The last id that was given to an event, and how many events there are.
struct event_head {
    model::id last = 0;
    std::uint64_t count = 0;
};
void encode(event_head const& head, std::string& to);
// nullopt: damaged. No bytes at all are those of a store that never had an event.
std::optional<event_head> decode_event_head(std::optional<std::string_view> bytes);

// Where a mark leads.
struct marked_event {
    model::id id = 0;
    base::wall_ms at = 0;
};
std::optional<marked_event> decode_marked_event(std::string_view bytes);

// Writes a new event; `event.id` must be beyond the head's last.
void put_event(transaction& in, model::event_view const& event);
// Removes one; what its view shows dies with the first step. Of one whose record cannot be read
// nothing but that goes.
void erase_event(transaction& in, model::id id);

// How many events a source has, from the bytes under tag::event_count.
std::uint64_t event_count(std::optional<std::string_view> bytes);

}  // namespace latchkey::store
