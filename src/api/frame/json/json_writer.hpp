// JSON text (RFC 8259), appended token by token where the shape of a document is known before it is
// written. What the hot path needs takes either of two outputs: a std::string, which grows and so
// suits long texts, or a base::text_writer over bytes reserved, and zeroed, at once. Any thread.
//
//     append_string(output, name);            // "…", escaped
//     append_timestamp(output, created_at);   // "2026-01-02T03:04:05.678Z"
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/text.hpp"

namespace latchkey::api {

// Quoted and escaped. Bytes that are not UTF-8 become U+FFFD, so that the text is always JSON.
// Characters that a terminal hides or reorders (base::hidden_point) are escaped too.
void append_string(std::string& output, std::string_view text);
void append_string(base::text_writer& output, std::string_view text);
// The bytes that `append_string` writes at most.
std::size_t string_bytes_max(std::string_view text);

// As it is, for text that is known to need no escaping.
inline void append_raw(std::string& output, std::string_view text) {
    output.append(text);
}
inline void append_raw(base::text_writer& output, std::string_view text) {
    output.put(text);
}
void append_plain_string(auto& output, std::string_view text) {
    append_raw(output, "\"");
    append_raw(output, text);
    append_raw(output, "\"");
}

void append_number(std::string& output, std::integral auto value) {
    char digits[base::number_bytes_max];
    base::text_writer number(digits, sizeof digits);
    number.number(value);
    output.append(digits, number.position());
}

inline void append_timestamp(base::text_writer& output, base::wall_ms time) {
    output.put('"');
    base::format_timestamp(time, output.take(base::timestamp_bytes));
    output.put('"');
}
inline void append_timestamp(std::string& output, base::wall_ms time) {
    base::stack_writer<base::timestamp_bytes + 2> writer(output);
    append_timestamp(writer, time);
}

// Null stands for what is absent: the time 0, the id 0, an empty text.
void append_timestamp_or_null(auto& output, base::wall_ms time) {
    time == 0 ? append_raw(output, "null") : append_timestamp(output, time);
}
inline void append_id_or_null(std::string& output, std::int64_t id) {
    id == 0 ? append_raw(output, "null") : append_number(output, id);
}
void append_string_or_null(auto& output, std::string_view text) {
    text.empty() ? append_raw(output, "null") : append_string(output, text);
}

// The name of a member that is not the first: `,"name":`.
void append_name(auto& output, std::string_view name) {
    append_raw(output, ",\"");
    append_raw(output, name);
    append_raw(output, "\":");
}

// An array: `[…]`, with a comma between what `append_element` appends for each element.
template <class Range, class AppendElement>
void append_array(std::string& output, Range const& range, AppendElement append_element) {
    output.push_back('[');
    bool is_first = true;
    for (auto const& element : range) {
        if (!is_first) output.push_back(',');
        is_first = false;
        append_element(element);
    }
    output.push_back(']');
}

}  // namespace latchkey::api
