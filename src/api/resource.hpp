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

// The posts of one list into `answer`, with its links.
void answer_posts(call const& of, store::snapshot const& seen, store::post_filter const& which,
                  page const& part, std::string_view path, std::vector<filter> const& filters,
                  http::response& answer);

}  // namespace latchkey::api
