// Users and posts as JSON, and what their handlers share.
#pragma once

#include <string>

#include "api/list.hpp"
#include "model/post.hpp"
#include "model/user.hpp"

namespace latchkey::api {

void append_user(std::string& to, model::user_view const& user);
void append_post(std::string& to, model::post_view const& post);

// A 200 with one resource, for a read.
void show_resource(http::response& answer);
// A 200 or 201 after a write.
void show_written(http::response& answer);

inline trouble no_such(std::string_view what) {
    return {base::problem::not_found, "there is no " + std::string(what) + " with this id", {}};
}

// The posts of a list that is open.
void answer_posts(listing& list, store::snapshot const& seen, store::post_filter const& which,
                  http::response& answer);

inline constexpr std::string_view posts_of_user_path = "/api/v1/users/{id}/posts";

}  // namespace latchkey::api
