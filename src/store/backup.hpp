// Copies of a whole store, and putting one in its place. A copy is one file, as of one commit,
// taken beside a running server; master.key is never in it.
//
//     store::copy_to(*environment, descriptor, false);
//     store::replace("/var/lib/latchkey", "backup.mdb", {});
#pragma once

#include <string>

#include "base/result.hpp"
#include "store/environment.hpp"

namespace latchkey::store {

// Into an open file, from where it stands. Writers are held up for the moment in which the copy
// begins; pages that they free meanwhile are not used again before it ends. `compact` leaves out
// free pages and takes more time. The caller syncs.
base::result<void> copy_to(environment& store, int descriptor, bool compact);

struct replaced {
    bool kept_before = false;  // there was a store, now `store.mdb.before-restore`
};

// Puts a copy of `file` in the place of the directory's store in one step (a crash leaves the old
// or the new one), after every record of it was looked at. Refuses when a server or a command has
// the store open, when there is one already unless `force`, and when the file is not whole. The
// directory is made when it is absent. Nothing of it may be open in this process.
base::result<replaced> replace(std::string const& directory, std::string const& file, bool force);

}  // namespace latchkey::store
