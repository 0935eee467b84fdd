// What became of a write transaction, and the sentence about it. LMDB and errno say why something
// failed with an int; a cluster has fates of its own, which are no such codes. Values; private to
// the store.
//
//     auto const result = txn.commit();
//     if (result == commit_fate::row_lost) … decide again …
//     if (!result.ok()) return failure_error("the store cannot be written", result);
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace latchkey::store {

enum class commit_fate : std::uint8_t {
    committed,  // or there was nothing to commit; of a transaction that goes on: nothing has failed
    failed,     // nothing was written, for the reason that the code gives
    // Of a node of a cluster (shared_log.hpp):
    row_lost,       // another row has its position: decide again
    row_unknown,    // its row may be in the log
    log_away,       // its row is not in the log, which cannot be reached
    row_unapplied,  // its row is in the log, but not in this store
    rows_blocked,   // there is no space for the rows of other nodes
    row_newer,      // a row of a newer schema comes next
    log_missing,    // the store is a node, but no log is attached
};

// Is it one that only a node's transaction has?
bool is_of_cluster(commit_fate fate);

struct commit_result {
    commit_fate fate = commit_fate::committed;
    int code = 0;  // of `failed`: LMDB's, errno's or `record_damaged`; else 0

    constexpr commit_result() = default;
    // NOLINTNEXTLINE: implicit by design
    constexpr commit_result(commit_fate fate) : fate(fate) {}
    // NOLINTNEXTLINE: implicit by design
    constexpr commit_result(int code)
        : fate(code == 0 ? commit_fate::committed : commit_fate::failed), code(code) {}
    bool ok() const { return fate == commit_fate::committed; }
    bool operator==(commit_result const&) const = default;
};

// "cannot …: MDB_MAP_FULL: Environment mapsize limit reached".
base::error failure_error(std::string_view failure, commit_result const& result);

}  // namespace latchkey::store
