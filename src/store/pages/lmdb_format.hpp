// The layout of LMDB's pages, for code that reads them without LMDB: data version 1 (lmdb 0.9,
// mdb.c: MDB_page, MDB_node, MDB_db, MDB_meta). Offsets in bytes; numbers in the machine's byte
// order.
//
// A page: its number (8), unused (2), kind (2), the end of its offsets (2) and the beginning of its
// entries (2), or instead of these two the number of overflow pages (4); offsets (2 each), in the
// order of the keys. An entry: size of the value (4), marks (2), size of the key (2), key, value.
// On a branch page, size and marks together are the number of the child, which has the keys from
// the entry's own on; the first entry's key is empty and stands for all below the second's. A value
// with the mark `on_overflow_pages` is the number (8) of its first overflow page. Private to the
// store.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace latchkey::store::lmdb {

// The file is not meant to move to a machine of another byte order.
static_assert(std::endian::native == std::endian::little);

inline constexpr std::size_t page_head = 16, kind_offset = 10, lower_offset = 12;
inline constexpr std::size_t upper_offset = 14, overflow_count_offset = 12;
inline constexpr std::uint16_t branch_kind = 0x01, leaf_kind = 0x02, overflow_kind = 0x04;
inline constexpr std::size_t entry_head = 8, marks_offset = 4, key_size_offset = 6;
inline constexpr std::uint16_t on_overflow_pages = 0x01;

// The entry of a table in the table of tables: counts, depth and root of its tree.
inline constexpr std::size_t root_bytes = 48, depth_offset = 6, entries_offset = 32;
inline constexpr std::size_t root_offset = 40;
inline constexpr unsigned depth_max = 32;

// The two meta pages at the beginning of a file, one of which has the latest state: magic and data
// version, the page size (in the entry of the list of free pages), the table of tables, and the
// number of the transaction.
inline constexpr std::size_t magic_offset = 16, version_offset = 20, page_bytes_offset = 40;
inline constexpr std::size_t tables_offset = 88, number_offset = 144, state_end = 152;
inline constexpr std::uint32_t magic = 0xBEEFC0DE, data_version = 1;

template <class Integer>
Integer read(char const* position) {
    Integer value;
    std::memcpy(&value, position, sizeof value);
    return value;
}

}  // namespace latchkey::store::lmdb
