// Backup and restore. A copy is one file, the state of one commit, taken while a server runs; it
// never has master.key. The copy of a cluster's node keeps its cluster and position: where it is
// restored, it is a node that is behind, and the rows that it lacks are applied at its start.
// Another cluster refuses it by the cluster's id (environment::attach).
//
//     domain::copy_to(*environment, descriptor, false);
//     domain::replace("/var/lib/latchkey", "backup.mdb", {});
#pragma once

#include <string>

#include "base/result.hpp"
#include "domain/store_terms.hpp"
#include "store/environment.hpp"

namespace latchkey::domain {

// Writes the store to an open file, from its current position. Writers wait only while the copy
// begins; pages that they free meanwhile are not reused before it ends. `compact` leaves out free
// pages and takes more time. The caller syncs.
base::result<void> copy_to(environment& store, int descriptor, bool compact);

struct replacement {
    bool previous_kept = false;  // there was a store, which is now `store.mdb.before-restore`
};

// Replaces the store of the directory by a copy of `file` in one step (after a crash the old or the
// new one is there), once every record of the copy is checked. Refuses while a server or a command
// has the store open, when there is a store unless `force`, and when the file is damaged. Makes the
// directory when it is absent. This process must not have the store open.
base::result<replacement> replace(std::string const& directory, std::string const& file,
                                  bool force);

}  // namespace latchkey::domain
