// Problem documents (RFC 9457, api.md §11): the one place where errors become text. Any thread.
#pragma once

#include <span>
#include <string_view>

#include "api/frame/api_error.hpp"
#include "api/frame/settings.hpp"
#include "wire/http/response.hpp"

namespace latchkey::api {

// Replaces `response` by the document. `violated`: the names of the rate limits, with rate_limited.
void render_problem(api_error const& error, settings const& settings, std::string_view request_id,
                    std::span<std::string_view const> violated, http::response& response);

// Sentences on the meaning of a code and on what to do next, for the pages at /problems/{code}.
std::string_view advice_for(base::problem code);

}  // namespace latchkey::api
