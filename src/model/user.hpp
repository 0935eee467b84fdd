// Users (api.md §5) and their encoding in the store: version 1, created_at and updated_at (8 bytes
// each, big-endian), flags (1 byte), name and email, each preceded by its length (2). A `user_view`
// points into a page of the store and is valid until the snapshot is reset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "model/id.hpp"

namespace latchkey::model {

struct user_view {
    model::id id = 0;
    std::string_view name;
    std::string_view email;
    base::wall_ms created_at = 0;
    base::wall_ms updated_at = 0;
    bool plain = false;  // no JSON escapes in name and email; computed when the record is written
};

struct user {
    model::id id = 0;
    std::string name;
    std::string email;
    base::wall_ms created_at = 0;
    base::wall_ms updated_at = 0;
};

user_view view_of(user const& record);
user copy_of(user_view const& view);
void encode(user const& record, std::string& output);  // replaces `output`
// nullopt: not a record of a known version.
std::optional<user_view> decode_user(model::id id, std::string_view bytes);

inline constexpr std::size_t user_name_points_max = 200;  // code points
inline constexpr std::size_t email_bytes_max = 254;

// The grammar of HTML's <input type=email>, at most email_bytes_max bytes.
bool is_email(std::string_view text);
// The form that is unique among users: ASCII letters in lower case.
std::string folded_email(std::string_view email);

}  // namespace latchkey::model
