#include "store/id_walk.hpp"

#include "base/check.hpp"

namespace latchkey::store {

bool id_walk::below(model::id id) {
    // The element in front of the first that is not below; behind the table's end, its last one.
    auto const step = from(id) == 0 ? MDB_PREV : MDB_LAST;
    return stand(move(step) == 0);
}

int id_walk::from(model::id id) {
    auto const wanted = key_bytes(prefix_).add(id);
    key_ = val_of(wanted);
    return move(MDB_SET_RANGE);
}

int id_walk::move(MDB_cursor_op step) {
    int const code = ::mdb_cursor_get(cursor_, &key_, &value_, step);
    base::check(code == 0 || code == MDB_NOTFOUND, "a read of the store that LMDB refused");
    return code;
}

bool id_walk::stand(bool found) {
    auto const prefix = std::string_view(prefix_);
    auto const key = found ? store::view_of(key_) : std::string_view();
    if (!found || !key.starts_with(prefix)) return false;
    auto const id = read_id(key.substr(prefix.size()));
    id_ = id.value_or(0);
    return id.has_value();
}

}  // namespace latchkey::store
