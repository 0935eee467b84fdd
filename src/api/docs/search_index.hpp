// The index of the search on the pages: [{"title", "path", "kind", "text", "words"}], guides first.
// `text` is shown, `words` are those of the whole text. Any thread.
#pragma once

#include <boost/json/fwd.hpp>

#include "api/docs/reference.hpp"

namespace latchkey::api {

boost::json::array search_index(reference const& reference);

}  // namespace latchkey::api
