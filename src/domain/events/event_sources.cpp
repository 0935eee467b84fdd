// Reading the sources of events: those that have a secret, and those of which there are events.
#include <algorithm>

#include "domain/events/event_index.hpp"
#include "domain/events/event_lists.hpp"
#include "store/lmdb_value.hpp"
#include "store/scoped_cursor.hpp"
#include "store/snapshot_state.hpp"

namespace latchkey::domain {
namespace {

// The first source above `position` with an entry under the tag; empty: none.
std::string source_above(snapshot_state& state, MDB_cursor* cursor, tag tag,
                         std::string_view position) {
    if (cursor == nullptr) return {};
    ++state.work.searches;
    auto key = key_bytes{tag}.add(position);
    if (!position.empty()) key = key.add(std::uint8_t{0});  // no source has one
    auto entry = val_of(key);
    MDB_val value{};
    int const code = ::mdb_cursor_get(cursor, &entry, &value, MDB_SET_RANGE);
    if (code != 0 && code != MDB_NOTFOUND) state.note_damaged_page(code);
    if (code != 0) return {};
    auto const prefix = key_bytes{tag};
    auto const bytes = view_of(entry);
    if (!bytes.starts_with(std::string_view(prefix))) return {};
    return std::string(bytes.substr(std::string_view(prefix).size()));
}

}  // namespace

bool list_event_sources(snapshot const& view, std::string_view position, std::size_t limit,
                        base::wall_ms now, event_source_sink sink) {
    auto& state = view.state();
    scoped_cursor const counts(state, table::index), secrets(state, table::index);
    std::string last(position);
    for (;; --limit) {
        auto const counted = source_above(state, counts.get(), tag::event_count, last);
        auto const secured = source_above(state, secrets.get(), tag::event_secret, last);
        if (counted.empty() && secured.empty()) return false;
        if (limit == 0) return true;
        bool const first_is_counted = secured.empty() || (!counted.empty() && counted < secured);
        last = first_is_counted ? counted : secured;
        sink({.name = last,
              .events = event_count(state.get(table::index, event_count_key(last))),
              .secrets = find_event_secrets(view, last, now)});
    }
}

}  // namespace latchkey::domain
