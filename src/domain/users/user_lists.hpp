// Lists of users that are searched. Of the thread of the snapshot.
#pragma once

#include <string_view>

#include "base/search_text.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::domain {

// In the name or the address.
bool has_text(model::user_view const& user, base::search_text const& search);
// Those that have `text`, counted where they are few (list_part.hpp).
list_result users_with_text(snapshot const& view, std::string_view text, range const& part,
                            snapshot::user_sink sink);

}  // namespace latchkey::domain
