#include "api/frame/resource.hpp"

#include "api/frame/handlers.hpp"
#include "api/frame/json/json_writer.hpp"
#include "model/utf8.hpp"

namespace latchkey::api {
namespace {

// An upper bound of a record's members beside its texts.
constexpr std::size_t rest_bytes_max = 256;
constexpr std::size_t short_texts_bytes_max = 256;

// The flag of a record says that JSON needs no escapes; a terminal may (api.md §1).
bool needs_no_escape(std::string_view text, bool plain) {
    return plain && !model::has_hidden_point(text);
}

void append_text(auto& output, std::string_view text, bool plain) {
    needs_no_escape(text, plain) ? append_plain_string(output, text) : append_string(output, text);
}

void put_user(base::text_writer& out, model::user_view const& user) {
    out.put("{\"id\":").number(user.id).put(",\"name\":");
    append_text(out, user.name, user.plain);
    out.put(",\"email\":");
    append_text(out, user.email, user.plain);
    out.put(",\"created_at\":");
    append_timestamp(out, user.created_at);
    out.put(",\"updated_at\":");
    append_timestamp(out, user.updated_at);
    out.put('}');
}

}  // namespace

void append_user(std::string& output, model::user_view const& user) {
    bool const plain = user.plain && !model::has_hidden_point(user.name);
    auto const texts = plain ? user.name.size() + user.email.size()
                             : string_bytes_max(user.name) + string_bytes_max(user.email);
    if (texts <= short_texts_bytes_max) {
        base::stack_writer<rest_bytes_max + short_texts_bytes_max> out(output);
        put_user(out, user);
    } else {
        base::string_writer out(output, rest_bytes_max + texts);
        put_user(out, user);
    }
}

void append_post(std::string& output, model::post_view const& post) {
    {
        base::stack_writer<rest_bytes_max> head(output);
        head.put("{\"id\":").number(post.id).put(",\"user_id\":").number(post.user_id);
        head.put(",\"title\":");
    }
    // Appended to the string: texts may be long, and a writer's bytes are zeroed before they are
    // written.
    append_text(output, post.title, post.plain);
    output.append(",\"body\":");
    append_text(output, post.body, post.plain);
    base::stack_writer<rest_bytes_max> rest(output);
    rest.put(",\"status\":\"").put(model::name_of(post.status)).put("\",\"published_at\":");
    append_timestamp_or_null(rest, post.published_at);
    rest.put(",\"created_at\":");
    append_timestamp(rest, post.created_at);
    rest.put(",\"updated_at\":");
    append_timestamp(rest, post.updated_at);
    rest.put('}');
}

void show_resource(http::response& response) {
    response.content_type = http::content::json;
    response.add_lines("Cache-Control: private, no-cache\r\n");
}

void show_written(http::response& response) {
    response.content_type = http::content::json;
    response.add("Cache-Control", "no-store");
}

void answer_deleted(settings const&, store::outcome const&, http::response& response) {
    response.status = 204;
    response.add("Cache-Control", "no-store");
}

std::optional<api_error> answer_posts(listing& list, store::snapshot const& snapshot,
                                      store::post_filter const& filter, http::response& response) {
    list.begin(response);
    auto const each = [&](model::post_view const& post) {
        append_post(list.element(response.body), post);
    };
    return list.end(snapshot.posts(filter, list.range(response), each), response);
}

}  // namespace latchkey::api
