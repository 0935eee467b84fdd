#include "model/post.hpp"

#include <array>

#include "base/bytes.hpp"
#include "model/utf8.hpp"

namespace latchkey::model {
namespace {

constexpr std::uint8_t post_version = 1;
constexpr std::uint8_t post_flag_plain = 1;
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

bool can_become(post_status old_status, post_status new_status) {
    // The one forbidden transition: an archived post becomes a draft before it is published again.
    return !(old_status == post_status::archived && new_status == post_status::published);
}

post_view view_of(post const& record) {
    return {record.id,         record.user_id,    record.title,
            record.body,       record.status,     record.published_at,
            record.created_at, record.updated_at, is_plain(record.title) && is_plain(record.body)};
}

post copy_of(post_view const& view) {
    return {view.id,     view.user_id,      std::string(view.title), std::string(view.body),
            view.status, view.published_at, view.created_at,         view.updated_at};
}

void encode(post const& record, std::string& output) {
    output.clear();
    base::append(output, post_version);
    base::append(output, record.user_id);
    base::append(output, record.created_at);
    base::append(output, record.updated_at);
    base::append(output, record.published_at);
    base::append(output, static_cast<std::uint8_t>(record.status));
    base::append(output, is_plain(record.title) && is_plain(record.body) ? post_flag_plain
                                                                         : std::uint8_t{0});
    base::append_text(output, record.title);
    base::append(output, static_cast<std::uint32_t>(record.body.size()));
    output.append(record.body);
}

std::optional<post_view> decode_post(model::id id, std::string_view bytes) {
    base::reader input(bytes);
    if (input.integer<std::uint8_t>() != post_version) return std::nullopt;
    post_view view;
    view.id = id;
    view.user_id = input.integer<model::id>();
    view.created_at = input.integer<base::wall_ms>();
    view.updated_at = input.integer<base::wall_ms>();
    view.published_at = input.integer<base::wall_ms>();
    auto const status = input.integer<std::uint8_t>();
    auto const flags = input.integer<std::uint8_t>();
    view.title = input.text();
    view.body = input.bytes(input.integer<std::uint32_t>());
    if (!input.done() || status >= post_status_count || (flags & ~post_flag_plain) != 0)
        return std::nullopt;
    view.status = static_cast<post_status>(status);
    view.plain = (flags & post_flag_plain) != 0;
    return view;
}

}  // namespace latchkey::model
