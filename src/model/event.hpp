// Events from outside (API §12) and how the store keeps them. Encoded: version 1, received_at,
// key_id (8 bytes each), verified (1), how many marks (1), the marks (32 each), source and
// delivery_id behind their lengths (2 each), payload behind its own (4). Values, any thread; an
// `event_view` points into the store's page and holds until the snapshot is reset.
#pragma once

#include <array>

#include "model/user.hpp"

namespace latchkey::model {

// What a delivery is known again by: a digest of its id, or of its signature. Two events of one
// source within 24 hours never share one.
using event_mark = std::array<unsigned char, 32>;
inline constexpr std::size_t event_marks_max = 2;

// How an external service signs (API §12).
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
    std::string_view marks;    // event_mark after event_mark
    std::string_view payload;  // a JSON object, byte for byte as it came
};

// The texts must be within their bounds below.
void encode(event_view const& whole, std::string& to);
// nullopt: not a record of a version we know.
std::optional<event_view> decode_event(model::id id, std::string_view bytes);

// 1 to 255 visible ASCII characters: what may name a delivery.
bool is_delivery_id(std::string_view text);

inline constexpr std::size_t delivery_id_bytes_max = 255;
inline constexpr std::int64_t event_repeat_ms = 24 * 3600 * 1000;  // how long a mark is known again

}  // namespace latchkey::model
