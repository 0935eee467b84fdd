// Users (API §5) and how the store keeps them. A `user_view` points into the store's page: it holds
// until the snapshot is reset. Encoded: version 1, created_at and updated_at (8 bytes each,
// big-endian), flags (1 byte), name and email, each behind its length (2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace latchkey::model {

using id = std::int64_t;  // 1 to 2^53-1; 0: none

struct user_view {
    model::id id = 0;
    std::string_view name;
    std::string_view email;
    base::wall_ms created_at = 0;
    base::wall_ms updated_at = 0;
    bool plain = false;  // neither name nor email needs escaping in JSON; known when it was written
};

struct user {
    model::id id = 0;
    std::string name;
    std::string email;
    base::wall_ms created_at = 0;
    base::wall_ms updated_at = 0;
};

user_view view_of(user const& whole);
user copy_of(user_view const& view);
void encode(user const& whole, std::string& to);  // replaces `to`
// nullopt: not a record of a version we know.
std::optional<user_view> decode_user(model::id id, std::string_view bytes);

inline constexpr std::size_t user_name_points_max = 200;  // code points
inline constexpr std::size_t email_bytes_max = 254;

// True when no byte of it must be escaped in a JSON string (RFC 8259 §7).
bool is_plain(std::string_view text);
// Length in code points of valid UTF-8.
std::size_t points_of(std::string_view text);
// U+0000 to U+001F, U+007F to U+009F.
bool has_control_character(std::string_view text);
// The grammar of HTML's <input type=email>, at most email_bytes_max bytes.
bool is_email(std::string_view text);
// What is unique: ASCII letters in lower case.
std::string folded_email(std::string_view email);

}  // namespace latchkey::model
