// Finds a record by its id in the pages of an LMDB table, without LMDB. LMDB halves what is left of
// a page at each step and cannot know that ids are dense: among a million users that is some twenty
// keys on the way down, and for each of the last six or seven the processor waits for memory. Here
// the place is reckoned from the ids that a page spans and is found at the first or second look.
//
// It knows the pages of data version 1 (lmdb 0.9, mdb.c: MDB_page, MDB_node, MDB_db) and believes
// nothing of them that it has not checked. Where it finds nothing, LMDB is to be asked: about an id
// that is not there, a record that has pages of its own, a damaged page, a file of another version.
//
// For one read-only transaction at a time, on its thread; allocates nothing. Private to the store.
#pragma once

#include <lmdb.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/user.hpp"

namespace latchkey::store {

class id_tree {
  public:
    // For every new transaction: `table` is a named table whose keys are ids, `main` the handle of
    // the unnamed one that lists them, and `map` where the file is mapped (empty: ask LMDB always).
    void follow(MDB_txn* txn, MDB_dbi main, std::string_view table, std::string_view map);

    // Has the memory fetched that `find` is going to read for this id: the head of its page, and
    // when it is called again the record, if it stands where it is likely to.
    void prefetch(model::id id);
    // The record, in the map: it holds as long as what the transaction sees. Nothing: ask LMDB.
    std::optional<std::string_view> find(model::id id) const;

  private:
    // The leaf page that has the ids from `low` to below `high`, as its branch page says.
    struct leaf {
        model::id wanted = 0;  // 0: none was found
        std::uint64_t number = 0;
        std::uint64_t low = 0;
        std::uint64_t high = 0;  // 0: not known
    };
    leaf leaf_of(model::id id) const;

    char const* map_ = nullptr;  // null: nothing is found
    std::uint64_t page_bytes_ = 0;
    std::uint64_t pages_ = 0;  // that are in use, and mapped
    std::uint64_t root_ = 0;
    unsigned depth_ = 0;
    leaf prefetched_;
};

}  // namespace latchkey::store
