// Steps over the ids under one prefix of a table, in either direction, for lists. The cursor is
// borrowed. Private to the store.
#pragma once

#include <lmdb.h>

#include <string_view>

#include "store/environment_state.hpp"

namespace latchkey::store {

class id_walk {
  public:
    // `prefix` empty: the whole table, whose keys are ids.
    id_walk(MDB_cursor* cursor, key_bytes const& prefix) : cursor_(cursor), prefix_(prefix) {}

    // True: it stands on an element, and `id` and `value` are its.
    bool first() { return stand(from(1) == 0); }
    bool last() { return below(above_all); }
    bool at_or_above(model::id id) { return stand(from(id) == 0); }
    bool below(model::id id);
    bool next() { return stand(move(MDB_NEXT) == 0); }
    bool previous() { return stand(move(MDB_PREV) == 0); }

    model::id id() const { return id_; }
    std::string_view value() const { return store::view_of(value_); }

  private:
    static constexpr model::id above_all = INT64_MAX;

    int from(model::id id);
    int move(MDB_cursor_op step);
    bool stand(bool found);

    MDB_cursor* cursor_;
    key_bytes prefix_;
    MDB_val key_{}, value_{};
    model::id id_ = 0;
};

}  // namespace latchkey::store
