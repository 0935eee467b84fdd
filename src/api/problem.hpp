// Problem documents (RFC 9457, API §11): the one place where errors become text.
#pragma once

#include <span>
#include <string_view>

#include "api/settings.hpp"
#include "api/trouble.hpp"
#include "http/response.hpp"

namespace latchkey::api {

// Turns `answer` into the document; whatever it held is dropped. `request_id` is the request's.
// `violated` names rate limits, for rate_limited.
void render_problem(trouble const& what, settings const& rules, std::string_view request_id,
                    std::span<std::string_view const> violated, http::response& answer);

// What a code means and what to do about it, for the pages at /problems/{code}.
std::string_view advice_for(base::problem code);

}  // namespace latchkey::api
