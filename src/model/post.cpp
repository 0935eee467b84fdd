#include "model/post.hpp"

#include <array>

#include "base/bytes.hpp"

namespace latchkey::model {
namespace {

constexpr std::uint8_t post_version = 1;
constexpr std::uint8_t flag_plain = 1;
constexpr std::array<std::string_view, post_status_count> status_names{"draft", "published",
                                                                       "archived"};

}  // namespace

std::string_view name_of(post_status status) {
    return status_names[static_cast<std::size_t>(status)];
}

std::optional<post_status> find_post_status(std::string_view name) {
    for (std::size_t i = 0; i < post_status_count; ++i)
        if (status_names[i] == name) return static_cast<post_status>(i);
    return std::nullopt;
}

bool can_become(post_status from, post_status to) {
    // The one step that is missing: what was archived is looked at again before it is published.
    return !(from == post_status::archived && to == post_status::published);
}

post_view view_of(post const& whole) {
    return {whole.id,         whole.user_id,    whole.title,
            whole.body,       whole.status,     whole.published_at,
            whole.created_at, whole.updated_at, is_plain(whole.title) && is_plain(whole.body)};
}

post copy_of(post_view const& view) {
    return {view.id,     view.user_id,      std::string(view.title), std::string(view.body),
            view.status, view.published_at, view.created_at,         view.updated_at};
}

void encode(post const& whole, std::string& to) {
    to.clear();
    base::append(to, post_version);
    base::append(to, whole.user_id);
    base::append(to, whole.created_at);
    base::append(to, whole.updated_at);
    base::append(to, whole.published_at);
    base::append(to, static_cast<std::uint8_t>(whole.status));
    base::append(to, is_plain(whole.title) && is_plain(whole.body) ? flag_plain : std::uint8_t{0});
    base::append_text(to, whole.title);
    base::append(to, static_cast<std::uint32_t>(whole.body.size()));
    to.append(whole.body);
}

std::optional<post_view> decode_post(model::id id, std::string_view bytes) {
    base::reader from(bytes);
    if (from.integer<std::uint8_t>() != post_version) return std::nullopt;
    post_view view;
    view.id = id;
    view.user_id = from.integer<model::id>();
    view.created_at = from.integer<base::wall_ms>();
    view.updated_at = from.integer<base::wall_ms>();
    view.published_at = from.integer<base::wall_ms>();
    auto const status = from.integer<std::uint8_t>();
    auto const flags = from.integer<std::uint8_t>();
    view.title = from.text();
    view.body = from.bytes(from.integer<std::uint32_t>());
    if (!from.done() || status >= post_status_count || (flags & ~flag_plain) != 0)
        return std::nullopt;
    view.status = static_cast<post_status>(status);
    view.plain = (flags & flag_plain) != 0;
    return view;
}

}  // namespace latchkey::model
