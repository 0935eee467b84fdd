// Changes as they are stored (api.md §16): version 1, type (1), occurred_at, key id (8 each),
// project of the key or webhook that it is about, after its length (2), id of the subject (8), and
// its record in the encoding of its own, for a key after the time of its last use (8). Values; a
// `change_view` points into a page of the store and is valid until the snapshot is reset.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "model/change.hpp"
#include "model/id.hpp"

namespace latchkey::domain {

struct change_view {
    model::id sequence = 0;
    model::change_type type = model::change_type::user_created;
    base::wall_ms occurred_at = 0;
    model::id key_id = 0;            // of the caller; 0: the command line, or the service itself
    std::string_view project;        // of a key or a webhook, whose readers see it alone;
                                     // empty: it is about neither
    model::id subject = 0;           // the record's id
    base::wall_ms last_used_at = 0;  // of a key
    std::string_view record;         // as the decoder of its kind takes it; empty: only the id is
                                     // known (a deletion in a full store)
};

// Replaces `output`. The project is short enough to be a key's.
void encode(change_view const& change, std::string& output);
// nullopt: not a change of a known version. A type that this program does not know is none either.
std::optional<change_view> decode_change(model::id sequence, std::string_view bytes);

// The record of a change of a source's secret: its format (1), removed (1), the source.
struct secret_change {
    std::uint8_t format = 0;  // a model::event_format
    bool removed = false;
    std::string_view source;
};
void encode(secret_change const& change, std::string& output);
std::optional<secret_change> decode_secret_change(std::string_view bytes);

}  // namespace latchkey::domain
