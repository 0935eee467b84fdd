// Interpolation search over LMDB's B+tree pages, for tables whose keys are ids. LMDB bisects each
// page and cannot know that ids are dense: among a million users that is some twenty keys on the
// way down, of which the last six or seven are cache misses. Here a slot is estimated from the ids
// that a page spans, so one or two probes find it: half the time of a random user (bench/README;
// environment_options::interpolates switches it off).
//
// It reads the pages of data version 1 (lmdb_format.hpp) and trusts nothing in them that it has not
// checked. Where it finds nothing, the caller asks LMDB: for an id that does not exist, a record on
// overflow pages, a damaged page, a file of another version.
//
// For one read-only transaction at a time, on its thread; allocates nothing. Private to the store.
#pragma once

#include <lmdb.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/id.hpp"

namespace latchkey::store {

class id_tree {
    class page;

  public:
    // For each new transaction. `table` is a named table whose keys are ids, `main` the handle of
    // the unnamed one that lists them, `map` the mapped file (empty: every `find` defers to LMDB).
    void attach(MDB_txn* txn, MDB_dbi main, std::string_view table, std::string_view map);

    // Prefetches the head of the leaf page that `find` will read for this id.
    void prefetch_page(model::id id);
    // Then the record, if it is at its estimated place. Reads the page.
    void prefetch_record(model::id id);
    // Both for several ids, one step of all before the next step of any, so that their cache misses
    // overlap (group prefetching: Chen et al., "Improving hash join performance through
    // prefetching", 2004).
    void prefetch(std::span<model::id const> ids);
    // The record, in the map: valid as long as the transaction. nullopt: ask LMDB.
    std::optional<std::string_view> find(model::id id) const;

  private:
    // A page on the path to an id, at the end its leaf page. It has the ids in [low, high), as the
    // branch page above says.
    struct position {
        model::id id = 0;  // 0: no sound path
        std::uint64_t number = 0;
        std::uint64_t low = 0;
        std::uint64_t high = 0;  // 0: unknown
        bool record_prefetched = false;
    };
    static constexpr std::size_t group_size = 64;

    page page_at(position const& position, std::uint16_t kind) const;
    bool descend(position& position) const;
    position find_leaf(model::id id) const;
    void prefetch_head(position const& position) const;
    void prefetch_branches(std::span<position const> group) const;
    void prefetch_entry(position& leaf) const;
    void prefetch_group(std::span<model::id const> ids);
    static std::size_t slot_of(model::id id) { return static_cast<std::uint64_t>(id) % group_size; }

    char const* map_ = nullptr;  // null: nothing is found
    std::uint64_t page_bytes_ = 0;
    std::uint64_t pages_ = 0;  // in use, and mapped
    std::uint64_t root_ = 0;
    unsigned depth_ = 0;
    std::array<position, group_size> prefetched_{};  // leaf pages of prefetched ids, by `slot_of`
    std::array<position, group_size> group_;         // working space of `prefetch_group`
};

}  // namespace latchkey::store
