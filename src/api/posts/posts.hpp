// A list of posts, for the posts of all users and those of one. Lives while a handler runs.
#pragma once

#include "api/frame/list.hpp"

namespace latchkey::api {

// Renders the posts of a list after `open`.
std::optional<api_error> answer_posts(listing& list, domain::snapshot const& snapshot,
                                      domain::post_filter const& filter, http::response& response);

}  // namespace latchkey::api
