// Users and posts as JSON, and the parts that their handlers share. Any thread.
#pragma once

#include <string>

#include "api/frame/list.hpp"
#include "model/post.hpp"
#include "model/user.hpp"

namespace latchkey::api {

void append_user(std::string& output, model::user_view const& user);
void append_post(std::string& output, model::post_view const& post);

// The fields of a 200 with one resource.
void show_resource(http::response& response);
// The fields of a response to a write.
void show_written(http::response& response);

inline api_error no_such(std::string_view kind) {
    return make_error(base::problem::not_found,
                      "there is no " + std::string(kind) + " with this id");
}

// Renders the posts of a list after `open`.
std::optional<api_error> answer_posts(listing& list, store::snapshot const& snapshot,
                                      store::post_filter const& filter, http::response& response);

inline constexpr std::string_view posts_of_user_path = "/api/v1/users/{id}/posts";

}  // namespace latchkey::api
