// JSON text (RFC 8259) appended to a string: the hot path's own writer, where a document is known
// before it is written. Reading JSON is json_reader.hpp's. Any thread; allocates only when the
// string must grow.
//
//     append_string(to, name);            // "…", escaped
//     append_timestamp(to, created_at);   // "2026-01-02T03:04:05.678Z"
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/text.hpp"

namespace latchkey::api {

// Quoted and escaped. Bytes that are not UTF-8 become U+FFFD, so that the text is always JSON.
void append_string(std::string& to, std::string_view text);

// The same, where room was made: for `string_bytes_max(text)`.
void put_string(base::text_writer& to, std::string_view text);
std::size_t string_bytes_max(std::string_view text);
inline void put_timestamp(base::text_writer& to, base::wall_ms time) {
    to.put('"');
    base::format_timestamp(time, to.take(base::timestamp_bytes));
    to.put('"');
}

// For text that is known to need no escaping.
inline void append_plain_string(std::string& to, std::string_view text) {
    to.push_back('"');
    to.append(text);
    to.push_back('"');
}

void append_number(std::string& to, std::integral auto value) {
    char digits[24];
    to.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

inline void append_timestamp(std::string& to, base::wall_ms time) {
    auto const begin = to.size();
    to.resize(begin + base::timestamp_bytes + 2);
    to[begin] = to[to.size() - 1] = '"';
    base::format_timestamp(time, to.data() + begin + 1);
}

// 0 is null.
inline void append_timestamp_or_null(std::string& to, base::wall_ms time) {
    time == 0 ? void(to.append("null")) : append_timestamp(to, time);
}

}  // namespace latchkey::api
