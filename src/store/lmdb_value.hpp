// LMDB's values as string views, and its error codes as sentences. Private to store and domain.
#pragma once

#include <lmdb.h>

#include <string_view>

#include "base/result.hpp"

namespace latchkey::store {

// A code beside those of LMDB (-30799 to -30779): a record does not have its checksum.
inline constexpr int record_damaged = -30600;

// An MDB_val does not own its bytes: they are the caller's, or those of a mapped page.
inline MDB_val val_of(std::string_view bytes) {
    return {bytes.size(), const_cast<char*>(bytes.data())};
}
inline std::string_view view_of(MDB_val const& value) {
    return {static_cast<char const*>(value.mv_data), value.mv_size};
}

// "cannot …: MDB_MAP_FULL: Environment mapsize limit reached". `code` is LMDB's, errno's or
// `record_damaged`.
base::error lmdb_error(std::string_view failure, int code);

}  // namespace latchkey::store
