// Routes of users (api.md §5): the handlers, the operations that describe them, and the rows of
// the table. Constants; any thread.
#pragma once

#include "api/frame/record_kind.hpp"
#include "api/frame/resource.hpp"
#include "api/frame/route.hpp"
#include "api/frame/schema.hpp"
#include "api/users/user_json.hpp"

namespace latchkey::api {

std::optional<api_error> list_users(request_context const&, domain::snapshot const&,
                                    http::response&);
std::optional<api_error> get_user(request_context const&, domain::snapshot const&, http::response&);
std::optional<model::scope> scope_of_include(std::string_view raw_query);
std::optional<model::scope> scope_of_posts(std::string_view raw_query);
std::optional<api_error> list_posts_of_user(request_context const&, domain::snapshot const&,
                                            http::response&);
api_result<domain::command> plan_create_user(request_context const&);
api_result<domain::command> plan_replace_user(request_context const&);
api_result<domain::command> plan_patch_user(request_context const&);
api_result<domain::command> plan_delete_user(request_context const&);
void answer_user(settings const&, domain::outcome const&, http::response&);
void answer_user_created(settings const&, domain::outcome const&, http::response&);

namespace operations {

using enum success;
using enum base::problem;

inline constexpr operation list_users{.id = "listUsers",
                                      .group = "Users",
                                      .summary = "List users",
                                      .result = list,
                                      .response_schema = "UserList",
                                      .query = {"email", "search_users"}};
inline constexpr operation create_user{.id = "createUser",
                                       .group = "Users",
                                       .summary = "Create a user",
                                       .result = created,
                                       .response_schema = "User",
                                       .request_schema = "NewUser",
                                       .problems = {email_taken}};
inline constexpr operation get_user{
    .id = "getUser",
    .group = "Users",
    .summary = "Get a user",
    .result = resource,
    .response_schema = "UserWithPosts",
    .query = {"include"},
    .description =
        "With `include=posts` the answer has the user's first 100 posts too, needs the "
        "scope `posts:read` and has no `ETag`. `posts_pagination.next_cursor` continues in "
        "`/api/v1/users/{id}/posts?limit=100`."};
inline constexpr operation replace_user{.id = "replaceUser",
                                        .group = "Users",
                                        .summary = "Replace a user",
                                        .result = done,
                                        .response_schema = "User",
                                        .request_schema = "UserReplacement",
                                        .problems = {email_taken}};
inline constexpr operation patch_user{.id = "updateUser",
                                      .group = "Users",
                                      .summary = "Change members of a user",
                                      .result = done,
                                      .response_schema = "User",
                                      .request_schema = "UserPatch",
                                      .problems = {email_taken},
                                      .description = "A JSON merge patch (RFC 7396)."};
inline constexpr operation delete_user{.id = "deleteUser",
                                       .group = "Users",
                                       .summary = "Delete a user and its posts",
                                       .result = deleted};
inline constexpr operation list_posts_of_user{.id = "listPostsOfUser",
                                              .group = "Users",
                                              .summary = "List the posts of a user",
                                              .result = list,
                                              .response_schema = "PostList",
                                              .description = "Needs the scope `posts:read` too."};

}  // namespace operations

inline constexpr route user_routes[] = {
    {http::method::get, "/api/v1/users", operations::list_users, model::scope::users_read,
     read{list_users}, true},
    {http::method::post, "/api/v1/users", operations::create_user, model::scope::users_write,
     write{plan_create_user, answer_user_created}, true},
    {http::method::get, "/api/v1/users/{id}", operations::get_user, model::scope::users_read,
     read{get_user, scope_of_include, domain::resource::user}, true},
    {http::method::put, "/api/v1/users/{id}", operations::replace_user, model::scope::users_write,
     write{plan_replace_user, answer_user}, true},
    {http::method::patch, "/api/v1/users/{id}", operations::patch_user, model::scope::users_write,
     write{plan_patch_user, answer_user}, true},
    {http::method::delete_, "/api/v1/users/{id}", operations::delete_user,
     model::scope::users_write, write{plan_delete_user, answer_deleted, false}, true},
    {http::method::get, "/api/v1/users/{id}/posts", operations::list_posts_of_user,
     model::scope::users_read, read{list_posts_of_user, scope_of_posts}, true},
};

inline constexpr operation_group user_group{"Users", "The authors of posts."};

inline constexpr sent_change user_changes[] = {
    {model::change_type::user_created, "A user was created"},
    {model::change_type::user_updated, "A user was changed"},
    {model::change_type::user_deleted, "A user was deleted"},
};
inline constexpr record_kind user_records{.schema = "UserChange",
                                          .record = "User",
                                          .append = append_changed_user,
                                          .changes = user_changes,
                                          .has_deletions = true};

namespace schema {

object user_schemas();
std::span<parameter const> user_parameters();

}  // namespace schema

}  // namespace latchkey::api
