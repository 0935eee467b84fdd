// JSON Schemas of users.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/users/user_routes.hpp"
#include "model/user.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

json::value user_example() {
    return json::parse(R"({"id": 1, "name": "Ada Lovelace", "email": "ada@example.com",
        "created_at": "2026-01-02T03:04:05.678Z", "updated_at": "2026-01-02T03:04:05.678Z"})");
}

object name() {
    return with_description(text(1, model::user_name_points_max),
                            "In code points; no control characters.");
}
// The grammar of HTML's `type=email`, which is laxer than most.
object email_address() {
    auto result = text(3, model::email_bytes_max);
    result["pattern"] =
        "^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
        "(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$";
    return with_description(result, "Unique, whatever the case of its letters.");
}
object user_schema() {
    return response_object({{"id", id()},
                            {"name", name()},
                            {"email", email_address()},
                            {"created_at", time()},
                            {"updated_at", time()}},
                           user_example());
}
object user_with_posts_schema() {
    return response_object(
        {{"id", id()},
         {"name", name()},
         {"email", email_address()},
         {"created_at", time()},
         {"updated_at", time()},
         {"posts?", with_description(list_of(ref("Post"), 100), "With `include=posts`.")},
         {"posts_pagination?", with_description(ref("Pagination"), "With `include=posts`.")}},
        user_example());
}
object new_user_schema() {
    return request_object({{"name", not_blank(name())}, {"email", email_address()}},
                          json::parse(R"({"name": "Ada Lovelace", "email": "ada@example.com"})"));
}
object changed_user_schema(std::string_view name_member, std::string_view email_member,
                           json::value example) {
    return request_object({{name_member, not_blank(name())},
                           {email_member, email_address()},
                           {"id?", unchanged(id())},
                           {"created_at?", unchanged(time())},
                           {"updated_at?", unchanged(time())}},
                          std::move(example));
}

object email() {
    return text(1, model::email_bytes_max);
}
object include() {
    return one_of({"posts"});
}

}  // namespace

object user_schemas() {
    return {
        {"User", user_schema()},
        {"UserWithPosts", user_with_posts_schema()},
        {"UserList", list_schema("User")},
        {"NewUser", new_user_schema()},
        {"UserReplacement",
         changed_user_schema("name", "email",
                             json::parse(R"({"name": "Ada", "email": "ada@example.com"})"))},
        {"UserPatch", changed_user_schema("name?", "email?", json::parse(R"({"name": "Ada"})"))}};
}

std::span<parameter const> user_parameters() {
    static constexpr parameter rows[] = {
        {"email", "query", email,
         "The one user with this address, whatever the case of its letters."},
        {"search_users", "query", search,
         "Users whose name or address has this text as a part, whatever the case of ASCII letters.",
         "search"},
        {"include", "query", include, "Adds the first posts."},
    };
    return rows;
}

}  // namespace latchkey::api::schema
