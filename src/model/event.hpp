// Events from external services (api.md §12) and their encoding in the store: version 1,
// received_at, key_id (8 bytes each), verified (1), number of marks (1), the marks (32 each),
// source and delivery_id preceded by their lengths (2 each), payload preceded by its length (4).
// Values, any thread; an `event_view` points into a page of the store and is valid until the
// snapshot is reset.
#pragma once

#include <array>

#include "model/user.hpp"

namespace latchkey::model {

// Identifies a repeated delivery: a digest of its id or of its signature. No two events of one
// source within 24 hours share one.
using event_mark = std::array<unsigned char, 32>;
inline constexpr std::size_t event_marks_max = 2;
static_assert(event_marks_max <= 0xff, "their number is one byte of a record");

// Signature formats of external services (api.md §12).
enum class event_format : std::uint8_t { standard, github, stripe };
inline constexpr std::size_t event_format_count = 3;
std::string_view name_of(event_format format);
std::optional<event_format> find_event_format(std::string_view name);

struct event_view {
    model::id id = 0;
    std::string_view source;       // [a-z][a-z0-9-]{0,31}
    std::string_view delivery_id;  // empty: null
    model::id key_id = 0;
    bool verified = false;
    base::wall_ms received_at = 0;
    std::string_view marks;    // concatenated event_marks
    std::string_view payload;  // a JSON object, byte for byte as received
};

// The texts must be within the bounds below.
void encode(event_view const& record, std::string& output);
// nullopt: not a record of a known version.
std::optional<event_view> decode_event(model::id id, std::string_view bytes);

// 1 to 255 visible ASCII characters: a valid id of a delivery.
bool is_delivery_id(std::string_view text);

inline constexpr std::size_t delivery_id_bytes_max = 255;
// how long a repetition is recognised
inline constexpr std::int64_t event_repeat_ms = 24 * 3600 * 1000;

}  // namespace latchkey::model
