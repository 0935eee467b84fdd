// Routes of posts (api.md §6): the handlers, the operations that describe them, and the rows of
// the table. Constants; any thread.
#pragma once

#include "api/frame/record_kind.hpp"
#include "api/frame/resource.hpp"
#include "api/frame/route.hpp"
#include "api/frame/schema.hpp"
#include "api/posts/post_json.hpp"

namespace latchkey::api {

std::optional<api_error> list_posts(request_context const&, domain::snapshot const&,
                                    http::response&);
std::optional<api_error> get_post(request_context const&, domain::snapshot const&, http::response&);
api_result<domain::command> plan_create_post(request_context const&);
api_result<domain::command> plan_replace_post(request_context const&);
api_result<domain::command> plan_patch_post(request_context const&);
api_result<domain::command> plan_delete_post(request_context const&);
void answer_post(settings const&, domain::outcome const&, http::response&);
void answer_post_created(settings const&, domain::outcome const&, http::response&);

namespace operations {

using enum success;
using enum base::problem;

inline constexpr operation list_posts{
    .id = "listPosts",
    .group = "Posts",
    .summary = "List posts",
    .result = list,
    .response_schema = "PostList",
    .query = {"author", "user_id", "status"},
    .description =
        "The filters combine. `author` and `user_id` mean the same; two different values "
        "are `conflicting_parameters`. An unknown user has an empty list."};
inline constexpr operation create_post{.id = "createPost",
                                       .group = "Posts",
                                       .summary = "Create a post",
                                       .result = created,
                                       .response_schema = "Post",
                                       .request_schema = "NewPost"};
inline constexpr operation get_post{.id = "getPost",
                                    .group = "Posts",
                                    .summary = "Get a post",
                                    .result = resource,
                                    .response_schema = "Post"};
inline constexpr operation replace_post{.id = "replacePost",
                                        .group = "Posts",
                                        .summary = "Replace a post",
                                        .result = done,
                                        .response_schema = "Post",
                                        .request_schema = "PostReplacement",
                                        .problems = {invalid_state_transition}};
inline constexpr operation patch_post{
    .id = "updatePost",
    .group = "Posts",
    .summary = "Change members of a post",
    .result = done,
    .response_schema = "Post",
    .request_schema = "PostPatch",
    .problems = {invalid_state_transition},
    .description =
        "A JSON merge patch (RFC 7396). A draft can be published or archived, a published "
        "post drafted or archived, an archived one drafted."};
inline constexpr operation delete_post{
    .id = "deletePost", .group = "Posts", .summary = "Delete a post", .result = deleted};

}  // namespace operations

inline constexpr route post_routes[] = {
    {http::method::get, "/api/v1/posts", operations::list_posts, model::scope::posts_read,
     read{list_posts}, true},
    {http::method::post, "/api/v1/posts", operations::create_post, model::scope::posts_write,
     write{plan_create_post, answer_post_created}, true},
    {http::method::get, "/api/v1/posts/{id}", operations::get_post, model::scope::posts_read,
     read{get_post, nullptr, domain::resource::post}, true},
    {http::method::put, "/api/v1/posts/{id}", operations::replace_post, model::scope::posts_write,
     write{plan_replace_post, answer_post}, true},
    {http::method::patch, "/api/v1/posts/{id}", operations::patch_post, model::scope::posts_write,
     write{plan_patch_post, answer_post}, true},
    {http::method::delete_, "/api/v1/posts/{id}", operations::delete_post,
     model::scope::posts_write, write{plan_delete_post, answer_deleted, false}, true},
};

inline constexpr operation_group post_group{"Posts", "Texts of users."};

inline constexpr sent_change post_changes[] = {
    {model::change_type::post_created, "A post was created", true,
     R"({"status": "draft", "published_at": null})"},
    {model::change_type::post_updated, "A post was changed", true,
     R"({"status": "draft", "published_at": null})"},
    {model::change_type::post_published, "A post was published"},
    {model::change_type::post_archived, "A post was archived", true, R"({"status": "archived"})"},
    {model::change_type::post_deleted, "A post was deleted, by itself or with its user"},
};
inline constexpr record_kind post_records{.schema = "PostChange",
                                          .record = "Post",
                                          .append = append_changed_post,
                                          .changes = post_changes,
                                          .has_deletions = true};

namespace schema {

object post_schemas();
std::span<parameter const> post_parameters();

}  // namespace schema

}  // namespace latchkey::api
