// The start page and the guides, which were rendered when the service was built (web/guides.hpp).
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "api/docs/reference.hpp"
#include "web/guides.hpp"

namespace latchkey::api {

// `base_url` as in the settings.
std::string start_content(reference const& reference, std::string_view base_url);
// Of the page for a path that has none.
std::string missing_content(bool has_console);
std::string guide_content(reference const& reference, web::guide const& guide);

}  // namespace latchkey::api
