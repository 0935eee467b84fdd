// Deleted users whose posts are still being removed: queries leave those posts out from the commit
// of the deletion on. Private to the domain.
#pragma once

#include "domain/store_terms.hpp"
#include "store/snapshot_state.hpp"

namespace latchkey::domain {

// Costs one comparison while no posts are being removed; otherwise the users are read once per
// version. Sets `damaged` if they cannot all be read.
bool is_being_purged(snapshot_state& snapshot, model::id user);

}  // namespace latchkey::domain
