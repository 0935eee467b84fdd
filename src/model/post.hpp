// Posts (API §6) and how the store keeps them. Encoded: version 1, user_id, created_at, updated_at,
// published_at (8 bytes each; 0: null), status (1), flags (1), title behind its length (2), body
// behind its own (4), so that a record that was cut short is refused wherever it was cut. Values,
// any thread; a `post_view` points into the store's page and holds until the snapshot is reset.
#pragma once

#include "model/user.hpp"

namespace latchkey::model {

enum class post_status : std::uint8_t { draft, published, archived };
inline constexpr std::size_t post_status_count = 3;
std::string_view name_of(post_status status);
std::optional<post_status> find_post_status(std::string_view name);
// draft → published or archived, published → draft or archived, archived → draft; to itself always.
bool can_become(post_status from, post_status to);

struct post_view {
    model::id id = 0;
    model::id user_id = 0;
    std::string_view title;
    std::string_view body;
    post_status status = post_status::draft;
    base::wall_ms published_at = 0;  // 0: null
    base::wall_ms created_at = 0;
    base::wall_ms updated_at = 0;
    bool plain = false;  // neither title nor body needs escaping in JSON
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

post_view view_of(post const& whole);
post copy_of(post_view const& view);
void encode(post const& whole, std::string& to);
std::optional<post_view> decode_post(model::id id, std::string_view bytes);

inline constexpr std::size_t post_title_points_max = 200;
inline constexpr std::size_t post_body_bytes_max = 65536;

}  // namespace latchkey::model
