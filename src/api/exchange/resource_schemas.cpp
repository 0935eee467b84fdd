// JSON Schemas of users, posts, lists and problems.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/frame/schema.hpp"
#include "base/limits.hpp"
#include "base/problem.hpp"
#include "model/post.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using namespace schema;

json::value user_example() {
    return json::parse(R"({"id": 1, "name": "Ada Lovelace", "email": "ada@example.com",
        "created_at": "2026-01-02T03:04:05.678Z", "updated_at": "2026-01-02T03:04:05.678Z"})");
}
json::value post_example() {
    return json::parse(R"({"id": 7, "user_id": 1, "title": "Notes on the Analytical Engine",
        "body": "It weaves algebraic patterns.", "status": "published",
        "published_at": "2026-01-03T00:00:00.000Z", "created_at": "2026-01-02T03:04:05.678Z",
        "updated_at": "2026-01-03T00:00:00.000Z"})");
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
object as_sent_back(object schema) {
    return with_description(std::move(schema), "May be sent back as it is.");
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
                           {"id?", as_sent_back(id())},
                           {"created_at?", as_sent_back(time())},
                           {"updated_at?", as_sent_back(time())}},
                          std::move(example));
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
        {{"user_id", as_sent_back(id())},
         {"title", not_blank(title())},
         {"body", body()},
         {"status", status()},
         {"id?", as_sent_back(id())},
         {"published_at?", as_sent_back(nullable(time()))},
         {"created_at?", as_sent_back(time())},
         {"updated_at?", as_sent_back(time())}},
        json::parse(R"({"user_id": 1, "title": "Notes", "body": "", "status": "draft"})"));
}
object post_patch_schema() {
    return request_object({{"title?", not_blank(title())},
                           {"body?", body()},
                           {"status?", status()},
                           {"id?", as_sent_back(id())},
                           {"user_id?", as_sent_back(id())},
                           {"published_at?", as_sent_back(nullable(time()))},
                           {"created_at?", as_sent_back(time())},
                           {"updated_at?", as_sent_back(time())}},
                          json::parse(R"({"status": "published"})"));
}

object pagination_schema() {
    auto const count = integer(0, base::limits::id_max);
    return response_object(
        {{"page", with_description(nullable(integer(1, base::limits::page_reach_max)),
                                   "Null when a cursor was sent.")},
         {"limit", integer(1, base::limits::page_limit_max)},
         {"total", with_description(nullable(count),
                                    "How many there are in all, exact; null "
                                    "where counting would cost too much.")},
         {"total_pages", with_description(nullable(count),
                                          "Null when a cursor was sent, and "
                                          "without a total.")},
         {"has_more", boolean()},
         {"next_cursor",
          with_description(nullable(matching("^[A-Za-z0-9_-]{1,256}$")), "Null at the end.")}},
        json::parse(R"({"page": 1, "limit": 20, "total": 1, "total_pages": 1, "has_more": false,
            "next_cursor": null})"));
}

object field_error_schema() {
    json::array codes;
    for (auto i = 0u; i <= static_cast<unsigned>(base::field_code::not_unique); ++i)
        codes.push_back(json::value(base::name_of(static_cast<base::field_code>(i))));
    return response_object(
        {{"pointer?", with_description(object{{"type", "string"}},
                                       "JSON pointer (RFC 6901) to the member of the body.")},
         {"parameter?", with_description(object{{"type", "string"}}, "The query parameter.")},
         {"header?", with_description(object{{"type", "string"}}, "The header field.")},
         {"code", object{{"type", "string"}, {"enum", std::move(codes)}}},
         {"detail", object{{"type", "string"}}}},
        json::parse(R"({"pointer": "/email", "code": "invalid_format",
            "detail": "must be an email address"})"));
}

object problem_schema() {
    json::array codes;
    for (auto const& entry : base::problems)
        if (entry.code != base::problem::none) codes.push_back(json::value(entry.name));
    object const text{{"type", "string"}};
    return with_description(
        response_object(
            {{"type", object{{"type", "string"}, {"format", "uri-reference"}}},
             {"title", text},
             {"status", integer(400, 599)},
             {"detail", text},
             {"instance", matching("^urn:request:[A-Za-z0-9_-]{8,64}$")},
             {"code", with_description(object{{"type", "string"}, {"enum", std::move(codes)}},
                                       "The stable part, for programs.")},
             {"request_id", matching("^[A-Za-z0-9_-]{8,64}$")},
             {"errors?", list_of(ref("FieldError"), base::limits::faults_max)},
             {"violated_policies?",
              with_description(list_of(text, 8), "With `rate_limited`: the names of the limits.")},
             {"violated-policies?",
              with_description(list_of(text, 8),
                               "The same, as the draft of RateLimit spells it.")}},
            nullptr),
        "RFC 9457. The codes are explained at `/problems/{code}`.");
}

}  // namespace

boost::json::object list_schema(std::string_view element) {
    return response_object({{"data", list_of(ref(element), base::limits::page_limit_max)},
                            {"pagination", ref("Pagination")}},
                           nullptr);
}

boost::json::object resource_schemas() {
    return {
        {"User", user_schema()},
        {"UserWithPosts", user_with_posts_schema()},
        {"UserList", list_schema("User")},
        {"NewUser", new_user_schema()},
        {"UserReplacement",
         changed_user_schema("name", "email",
                             json::parse(R"({"name": "Ada", "email": "ada@example.com"})"))},
        {"UserPatch", changed_user_schema("name?", "email?", json::parse(R"({"name": "Ada"})"))},
        {"Post", post_schema()},
        {"PostList", list_schema("Post")},
        {"NewPost", new_post_schema()},
        {"PostReplacement", post_replacement_schema()},
        {"PostPatch", post_patch_schema()},
        {"Pagination", pagination_schema()},
        {"FieldError", field_error_schema()},
        {"Problem", problem_schema()}};
}

}  // namespace latchkey::api
