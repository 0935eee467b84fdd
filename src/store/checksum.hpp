// The checksum of a record, and the only functions that write a record and take it apart. The value
// in LMDB is the content followed by 8 bytes (big-endian): XXH3 of the content, xor XXH3 of table
// and key. So a changed byte in key, content or checksum is detected, and so is a record under the
// key of another. Entries without content have one too, since lists follow their keys.
//
// It detects damage, not tampering: with write access to the file one can write a checksum too.
// Reading returns a view into the page, nothing is copied. Any thread; private to the store.
#pragma once

#include <optional>
#include <string_view>

#include "base/function_ref.hpp"
#include "store/layout.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::store {

inline constexpr std::size_t checksum_bytes = 8;

// The content of a value that LMDB has under that key; nullopt: damaged.
std::optional<std::string_view> content_of(table table, std::string_view key,
                                           std::string_view value);

// The part of the checksum that the key has, for an entry that is read again and again.
std::uint64_t key_checksum(table table, std::string_view key);
std::optional<std::string_view> content_of(std::uint64_t key_checksum, std::string_view value);

// 0 or an LMDB code. `flags` as for mdb_put, without MDB_RESERVE. The content must not be a view of
// a page of the transaction.
int put_checked(MDB_txn* txn, MDB_dbi dbi, table table, std::string_view key,
                std::string_view content, unsigned flags);

// Is there no entry under that key, as far as its neighbours tell? LMDB also reports "not found"
// when a key on the path has changed, but then an entry beside the gap is damaged or out of order.
// `is_whole` checks an entry; the cursor is moved.
using entry_judge = base::function_ref<bool(std::string_view key, std::string_view value)>;
bool is_surely_absent(MDB_cursor* cursor, std::string_view key, entry_judge is_whole);

}  // namespace latchkey::store
