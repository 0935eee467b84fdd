// What an environment is made of, for the store's own files: the LMDB handles, and the answer to
// whether there is room to grow. Private to the store.
#pragma once

#include <lmdb.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <utility>

#include "store/environment.hpp"
#include "store/layout.hpp"

namespace latchkey::store {

// An MDB_val borrows the bytes, or lends those of a page.
inline MDB_val val_of(std::string_view bytes) {
    return {bytes.size(), const_cast<char*>(bytes.data())};
}
inline std::string_view view_of(MDB_val const& value) {
    return {static_cast<char const*>(value.mv_data), value.mv_size};
}

// "cannot …: MDB_MAP_FULL: Environment mapsize limit reached"
base::error lmdb_error(std::string_view what, int code);

// How much a transaction may write. Its numbers hold while the write lock is held.
struct room {
    bool grow = true;            // false: the disk or the map is full, only what frees may go on
    bool write = true;           // false: not even that
    std::size_t weight_max = 0;  // of one transaction: commands, and posts that go with a user;
                                 // small near the end of the map, so that a group does not jump it
};

struct environment::state {
    std::string directory;
    bool read_only = false;
    base::wall_ms (*wall)() = nullptr;
    std::int64_t event_retention_ms = 0;  // 0: for ever
    MDB_env* env = nullptr;
    MDB_dbi main = 0;  // which says where the tables are
    std::array<MDB_dbi, table_count> tables{};
    std::string_view map;  // the file in memory and what it may grow to; empty: not known
    std::uint64_t map_bytes = 0;
    std::uint64_t page_bytes = 0;
    std::array<char, 32> master_key{};
    bool has_master_key = false;
    int claim = -1;  // descriptor of server.lock
    // Offset in the file up to which the disk has given us its blocks. Never shrinks, so several
    // threads may look at it, and another process can only have reserved more.
    std::atomic<std::uint64_t> reserved{0};
    std::pair<std::uint64_t, std::uint64_t> identity{};  // device and inode of the directory

    state() = default;
    state(state const&) = delete;
    state& operator=(state const&) = delete;
    ~state();

    MDB_dbi dbi(table which) const { return tables[static_cast<std::size_t>(which)]; }
    // Called within a write transaction. Makes sure that the disk has blocks for what comes; `more`
    // is how many bytes of pages that is beyond what a group of commands takes.
    room make_room(std::uint64_t more = 0);

  private:
    bool reserve_blocks(std::uint64_t end);
    std::uint64_t blocks_of_file() const;
    std::uint64_t free_pages() const;
};

// Where LMDB has mapped its file (map.cpp); empty where the system does not say, as on file systems
// that have another device number there (btrfs).
std::string_view map_of(MDB_env* env);
// Has the map in huge pages where the system can; a wish, so it says nothing (huge_pages.cpp).
void ask_for_huge_pages(environment::state const& store);

}  // namespace latchkey::store
