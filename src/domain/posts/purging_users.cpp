#include "domain/posts/purging_users.hpp"

#include <algorithm>

#include "domain/frame/id_walk.hpp"
#include "store/scoped_cursor.hpp"

namespace latchkey::domain {
namespace {

// With a cursor of its own, since the caller may be walking a list.
void read_users(snapshot_state& snapshot) {
    auto& purging = snapshot.purging;
    purging.version = snapshot.version;
    purging.ids.clear();
    scoped_cursor const cursor(snapshot, table::index);
    id_walk walk(snapshot, table::index, key_bytes{tag::purge}, cursor.get());
    for (bool valid = walk.first(); valid; valid = walk.next())
        if (walk.content()) purging.ids.push_back(walk.id());
    purging.damaged = purging.ids.size() != snapshot.counters().purges;
}

}  // namespace

bool is_being_purged(snapshot_state& snapshot, model::id user) {
    if (snapshot.counters().purges == 0) return false;
    if (snapshot.purging.version != snapshot.version) read_users(snapshot);
    if (snapshot.purging.damaged) snapshot.damaged = true;
    return std::ranges::binary_search(snapshot.purging.ids, user);
}

}  // namespace latchkey::domain
