// Functions that the handlers of all capabilities share. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "api/frame/list.hpp"

namespace latchkey::api {

// The fields of a 200 with one resource.
void show_resource(http::response& response);
// The fields of a response to a write.
void show_written(http::response& response);

inline api_error no_such(std::string_view kind) {
    return make_error(base::problem::not_found,
                      "There is no " + std::string(kind) + " with this id.");
}

// The answer to a DELETE.
void answer_deleted(settings const&, domain::outcome const&, http::response& response);

// Whether the caller may see keys of that project, and what belongs to it like them.
bool sees_project(request_context const& context, std::string_view project);

// The names with spaces between, as OAuth 2.0 writes scopes (RFC 6749 §3.3).
std::string scope_words(model::scope_set const& scopes);

}  // namespace latchkey::api
