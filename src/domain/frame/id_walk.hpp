// Iterates over the ids under one prefix of a table, in either direction, for lists. The path to
// each page and the entries beside both ends are checked, since damage there may hide entries. An
// entry itself is checked by `content` only, so skipping many is cheap. Uses the snapshot's list
// cursor unless it gets its own. Private to the domain.
#pragma once

#include <lmdb.h>

#include <string_view>

#include "domain/store_terms.hpp"
#include "store/lmdb_value.hpp"
#include "store/snapshot_state.hpp"

namespace latchkey::domain {

class id_walk {
  public:
    // An empty prefix: the whole table, whose keys are ids.
    id_walk(snapshot_state& snapshot, table table, key_bytes const& prefix)
        : id_walk(snapshot, table, prefix, snapshot.cursor(table)) {}
    // With a cursor of the caller's, which outlives it. Null: the walk has no elements.
    id_walk(snapshot_state& snapshot, table table, key_bytes const& prefix, MDB_cursor* cursor)
        : snapshot_(snapshot), table_(table), cursor_(cursor), prefix_(prefix) {}

    // True: the walk is on an element, whose `id` and `content` can be read.
    bool first() { return at_or_above(1); }
    bool last() { return below(above_all); }
    bool at_or_above(model::id id);
    bool below(model::id id);
    bool next() { return accept(move(MDB_NEXT) == 0); }
    bool previous() { return accept(move(MDB_PREV) == 0); }

    model::id id() const { return id_; }
    read_work const& work() const { return snapshot_.work; }
    // nullopt: the entry is damaged, which is noted.
    std::optional<std::string_view> content() {
        return snapshot_.content(table_, view_of(key_), view_of(value_));
    }

  private:
    static constexpr model::id above_all = INT64_MAX;

    int seek(model::id id);
    int move(MDB_cursor_op step);
    bool accept(bool valid);
    void check_page();

    snapshot_state& snapshot_;
    table table_;
    MDB_cursor* cursor_;  // null: it cannot be opened
    std::uint64_t page_ = UINT64_MAX;
    key_bytes prefix_;
    MDB_val key_{}, value_{};
    model::id id_ = 0;
};

}  // namespace latchkey::domain
