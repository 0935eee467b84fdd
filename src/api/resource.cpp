#include "api/resource.hpp"

#include "api/handlers.hpp"
#include "api/json_writer.hpp"

namespace latchkey::api {
namespace {

// More than a record's members take beside its texts.
constexpr std::size_t rest_bytes_max = 256;

void append_text(std::string& to, std::string_view text, bool plain) {
    plain ? append_plain_string(to, text) : append_string(to, text);
}

}  // namespace

void append_user(std::string& to, model::user_view const& user) {
    auto const texts = user.plain ? user.name.size() + user.email.size()
                                  : string_bytes_max(user.name) + string_bytes_max(user.email);
    base::string_writer out(to, rest_bytes_max + texts);
    auto const text = [&](std::string_view value) {
        user.plain ? void(out.put('"').put(value).put('"')) : put_string(out, value);
    };
    out.put("{\"id\":").number(user.id).put(",\"name\":");
    text(user.name);
    out.put(",\"email\":");
    text(user.email);
    out.put(",\"created_at\":");
    put_timestamp(out, user.created_at);
    out.put(",\"updated_at\":");
    put_timestamp(out, user.updated_at);
    out.put('}');
}

void append_post(std::string& to, model::post_view const& post) {
    {
        base::string_writer head(to, rest_bytes_max);
        head.put("{\"id\":").number(post.id).put(",\"user_id\":").number(post.user_id);
        head.put(",\"title\":");
    }
    // Texts may be long, and room is filled with zeros before it is written.
    append_text(to, post.title, post.plain);
    to.append(",\"body\":");
    append_text(to, post.body, post.plain);
    base::string_writer rest(to, rest_bytes_max);
    rest.put(",\"status\":\"").put(model::name_of(post.status)).put("\",\"published_at\":");
    post.published_at == 0 ? void(rest.put("null")) : put_timestamp(rest, post.published_at);
    rest.put(",\"created_at\":");
    put_timestamp(rest, post.created_at);
    rest.put(",\"updated_at\":");
    put_timestamp(rest, post.updated_at);
    rest.put('}');
}

void show_resource(http::response& answer) {
    answer.content_type = http::content::json;
    answer.add_lines("Cache-Control: private, no-cache\r\n");
}

void show_written(http::response& answer) {
    answer.content_type = http::content::json;
    answer.add("Cache-Control", "no-store");
}

void answer_deleted(settings const&, store::outcome const&, http::response& answer) {
    answer.status = 204;
    answer.add("Cache-Control", "no-store");
}

void answer_posts(listing& list, store::snapshot const& seen, store::post_filter const& which,
                  http::response& answer) {
    list.begin(answer);
    auto const listed = seen.posts(which, list.range(), [&](model::post_view const& post) {
        append_post(list.element(answer.body), post);
    });
    list.end(listed, answer);
}

}  // namespace latchkey::api
