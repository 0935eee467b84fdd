// JSON Schemas of posts.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/posts/post_routes.hpp"
#include "model/post.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

json::value post_example() {
    return json::parse(R"({"id": 7, "user_id": 1, "title": "Notes on the Analytical Engine",
        "body": "It weaves algebraic patterns.", "status": "published",
        "published_at": "2026-01-03T00:00:00.000Z", "created_at": "2026-01-02T03:04:05.678Z",
        "updated_at": "2026-01-03T00:00:00.000Z"})");
}

object title() {
    return with_description(text(1, model::post_title_points_max),
                            "In code points; no control characters.");
}
object body() {
    return with_description(text(0, model::post_body_bytes_max), "At most 65536 bytes of UTF-8.");
}
object status() {
    return one_of({"draft", "published", "archived"});
}
object post_schema() {
    return response_object(
        {{"id", id()},
         {"user_id", id()},
         {"title", title()},
         {"body", body()},
         {"status", status()},
         {"published_at", with_description(nullable(time()), "Null in a draft.")},
         {"created_at", time()},
         {"updated_at", time()}},
        post_example());
}
object new_post_schema() {
    return request_object(
        {{"user_id", id()},
         {"title", not_blank(title())},
         {"body?", with_description(body(), "At most 65536 bytes of UTF-8. Empty by default.")},
         {"status?", with_description(status(), "`draft` by default.")}},
        json::parse(R"({"user_id": 1, "title": "Notes on the Analytical Engine"})"));
}
object post_replacement_schema() {
    return request_object(
        {{"user_id", unchanged(id())},
         {"title", not_blank(title())},
         {"body", body()},
         {"status", status()},
         {"id?", unchanged(id())},
         {"published_at?", unchanged(nullable(time()))},
         {"created_at?", unchanged(time())},
         {"updated_at?", unchanged(time())}},
        json::parse(R"({"user_id": 1, "title": "Notes", "body": "", "status": "draft"})"));
}
object post_patch_schema() {
    return request_object({{"title?", not_blank(title())},
                           {"body?", body()},
                           {"status?", status()},
                           {"id?", unchanged(id())},
                           {"user_id?", unchanged(id())},
                           {"published_at?", unchanged(nullable(time()))},
                           {"created_at?", unchanged(time())},
                           {"updated_at?", unchanged(time())}},
                          json::parse(R"({"status": "published"})"));
}

}  // namespace

object post_schemas() {
    return {{"Post", post_schema()},
            {"PostList", list_schema("Post")},
            {"NewPost", new_post_schema()},
            {"PostReplacement", post_replacement_schema()},
            {"PostPatch", post_patch_schema()}};
}

std::span<parameter const> post_parameters() {
    static constexpr parameter rows[] = {
        {"author", "query", id, "Posts of this user."},
        {"user_id", "query", id, "The same as `author`."},
        {"status", "query", status, "Posts with this status."},
    };
    return rows;
}

}  // namespace latchkey::api::schema
