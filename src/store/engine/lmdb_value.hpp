// LMDB's values as string views, and its error codes as sentences. Private to the store.
#pragma once

#include <lmdb.h>

#include <string_view>

#include "base/result.hpp"

namespace latchkey::store {

// A code beside those of LMDB (-30799 to -30779): a record does not have its checksum.
inline constexpr int record_damaged = -30600;
// Codes of a transaction in a cluster (shared_log.hpp).
inline constexpr int row_lost = -30601;       // another row has its position: decide again
inline constexpr int row_unknown = -30602;    // its row may be in the log
inline constexpr int log_away = -30603;       // its row is not in the log, which cannot be reached
inline constexpr int row_unapplied = -30604;  // its row is in the log, but not in this store
inline constexpr int rows_blocked = -30605;   // there is no space for the rows of other nodes
inline constexpr int row_newer = -30606;      // a row of a newer schema comes next
inline constexpr int log_missing = -30607;    // the store is a node, but no log is attached

// An MDB_val does not own its bytes: they are the caller's, or those of a mapped page.
inline MDB_val val_of(std::string_view bytes) {
    return {bytes.size(), const_cast<char*>(bytes.data())};
}
inline std::string_view view_of(MDB_val const& value) {
    return {static_cast<char const*>(value.mv_data), value.mv_size};
}

// "cannot …: MDB_MAP_FULL: Environment mapsize limit reached". `code` is LMDB's, errno's or one of
// the above.
base::error lmdb_error(std::string_view failure, int code);

}  // namespace latchkey::store
