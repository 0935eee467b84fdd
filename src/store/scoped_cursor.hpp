// A cursor of its own for the length of a call, beside the snapshot's list cursor of the same
// table. Private to store and domain.
#pragma once

#include "store/snapshot_state.hpp"

namespace latchkey::store {

class scoped_cursor {
  public:
    scoped_cursor(snapshot_state& snapshot, table table) {
        int const code = ::mdb_cursor_open(snapshot.txn, snapshot.store.dbi(table), &cursor_);
        if (code != 0) snapshot.note_damaged_page(code);
    }
    ~scoped_cursor() {
        if (cursor_ != nullptr) ::mdb_cursor_close(cursor_);
    }
    scoped_cursor(scoped_cursor const&) = delete;
    scoped_cursor& operator=(scoped_cursor const&) = delete;
    MDB_cursor* get() const { return cursor_; }  // null: LMDB met a damaged page

  private:
    MDB_cursor* cursor_ = nullptr;
};

}  // namespace latchkey::store
