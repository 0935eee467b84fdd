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

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/user.hpp"

namespace latchkey::store {

class id_tree {
    class page;

  public:
    // For every new transaction: `table` is a named table whose keys are ids, `main` the handle of
    // the unnamed one that lists them, and `map` where the file is mapped (empty: ask LMDB always).
    void follow(MDB_txn* txn, MDB_dbi main, std::string_view table, std::string_view map);

    // Has the memory fetched that `find` is going to read for this id: the head of its page.
    void prefetch_page(model::id id);
    // And then the record, if it stands where it is likely to. Reads the page.
    void prefetch_record(model::id id);
    // Both for several ids at once, a step for each before the next step for any: the waits
    // of one overlap with those of the others (group prefetching: Chen et al., "Improving hash join
    // performance through prefetching", 2004).
    void prefetch(std::span<model::id const> ids);
    // The record, in the map: it holds as long as what the transaction sees. Nothing: ask LMDB.
    std::optional<std::string_view> find(model::id id) const;

  private:
    // A page on the way to an id, in the end its leaf page. It has the ids from `low` to below
    // `high`, as the branch page above says.
    struct place {
        model::id wanted = 0;  // 0: the way led nowhere
        std::uint64_t number = 0;
        std::uint64_t low = 0;
        std::uint64_t high = 0;  // 0: not known
        bool record_asked = false;
    };
    static constexpr std::size_t places = 64;

    page at(place const& there, std::uint16_t kind) const;
    bool descend(place& there) const;
    place leaf_of(model::id id) const;
    void prefetch_head(place const& there) const;
    void prefetch_branches(std::span<place const> ways) const;
    void prefetch_entry(place& there) const;
    void prefetch_some(std::span<model::id const> ids);
    static std::size_t index_of(model::id id) { return static_cast<std::uint64_t>(id) % places; }

    char const* map_ = nullptr;  // null: nothing is found
    std::uint64_t page_bytes_ = 0;
    std::uint64_t pages_ = 0;  // that are in use, and mapped
    std::uint64_t root_ = 0;
    unsigned depth_ = 0;
    std::array<place, places> prefetched_{};  // leaf pages that were asked for, by `index_of`
    std::array<place, places> ways_;          // of `prefetch_some`
};

}  // namespace latchkey::store
