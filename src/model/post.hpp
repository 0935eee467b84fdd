// Posts (api.md §6) and their encoding in the store: version 1, user_id, created_at, updated_at,
// published_at (8 bytes each; 0: null), status (1), flags (1), title preceded by its length (2),
// body preceded by its length (4), so that a truncated record is detected wherever it was cut.
// Values, any thread; a `post_view` points into a page of the store and is valid until the snapshot
// is reset.
#pragma once

#include "base/limits.hpp"
#include "model/user.hpp"

namespace latchkey::model {

enum class post_status : std::uint8_t { draft, published, archived };
inline constexpr std::size_t post_status_count = 3;
std::string_view name_of(post_status status);
std::optional<post_status> find_post_status(std::string_view name);
// draft → published or archived, published → draft or archived, archived → draft; each to itself.
bool can_become(post_status old_status, post_status new_status);

struct post_view {
    model::id id = 0;
    model::id user_id = 0;
    std::string_view title;
    std::string_view body;
    post_status status = post_status::draft;
    base::wall_ms published_at = 0;  // 0: null
    base::wall_ms created_at = 0;
    base::wall_ms updated_at = 0;
    bool plain = false;  // no JSON escapes in title and body
};

struct post {
    model::id id = 0;
    model::id user_id = 0;
    std::string title;
    std::string body;
    post_status status = post_status::draft;
    base::wall_ms published_at = 0;
    base::wall_ms created_at = 0;
    base::wall_ms updated_at = 0;
};

post_view view_of(post const& record);
post copy_of(post_view const& view);
void encode(post const& record, std::string& output);
std::optional<post_view> decode_post(model::id id, std::string_view bytes);

inline constexpr std::size_t post_title_points_max = 200;
inline constexpr std::size_t post_body_bytes_max = 65536;
static_assert(post_body_bytes_max < base::limits::body_bytes_max);

}  // namespace latchkey::model
