// Whether a store is a node of a cluster. Private to store and domain.
#pragma once

#include "store/environment_state.hpp"

namespace latchkey::store {

// The store's record of its cluster, read in a transaction of its own.
struct cluster_record {
    std::optional<cluster_position> position;  // nullopt: none, or unreadable
    bool is_node = false;
    bool is_unfinished = false;  // its state is being loaded, or a load was interrupted
};
cluster_record read_cluster(environment_state const& store);

// Called when the store is opened: from then on transactions of a node demand a log, and their
// commits rely on it for the last one's durability.
void note_cluster(environment_state& store);

}  // namespace latchkey::store
