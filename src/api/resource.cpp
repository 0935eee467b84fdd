#include "api/resource.hpp"

#include "api/handlers.hpp"
#include "api/json_writer.hpp"

namespace latchkey::api {
namespace {

void append_text(std::string& to, std::string_view text, bool plain) {
    plain ? append_plain_string(to, text) : append_string(to, text);
}

}  // namespace

void append_user(std::string& to, model::user_view const& user) {
    to.append("{\"id\":");
    append_number(to, user.id);
    to.append(",\"name\":");
    append_text(to, user.name, user.plain);
    to.append(",\"email\":");
    append_text(to, user.email, user.plain);
    to.append(",\"created_at\":");
    append_timestamp(to, user.created_at);
    to.append(",\"updated_at\":");
    append_timestamp(to, user.updated_at);
    to.push_back('}');
}

void append_post(std::string& to, model::post_view const& post) {
    to.append("{\"id\":");
    append_number(to, post.id);
    to.append(",\"user_id\":");
    append_number(to, post.user_id);
    to.append(",\"title\":");
    append_text(to, post.title, post.plain);
    to.append(",\"body\":");
    append_text(to, post.body, post.plain);
    to.append(",\"status\":");
    append_plain_string(to, model::name_of(post.status));
    to.append(",\"published_at\":");
    append_timestamp_or_null(to, post.published_at);
    to.append(",\"created_at\":");
    append_timestamp(to, post.created_at);
    to.append(",\"updated_at\":");
    append_timestamp(to, post.updated_at);
    to.push_back('}');
}

void show_resource(http::response& answer) {
    answer.content_type = http::content::json;
    answer.add("Cache-Control", "private, no-cache");
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
