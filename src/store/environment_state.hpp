// The state behind an environment: LMDB's handles, the map, locks and clocks of one open store. The
// store's own files work on this; users of the store see environment.hpp. Private to store and
// domain.
//
// Fields are set when the store is opened (environment.cpp) and constant afterwards, except for the
// atomics, `damage` and those that belong to the holder of the write lock.
#pragma once

#include <lmdb.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/system/descriptor.hpp"
#include "store/damage.hpp"
#include "store/environment_options.hpp"
#include "store/files/lock_mark.hpp"
#include "store/files/write_lock.hpp"
#include "store/layout.hpp"
#include "store/pages/mapped_pages.hpp"
#include "store/shared_log.hpp"
#include "store/time.hpp"

namespace latchkey::store {

// A row of this process that is, or may be, in the log of the cluster and not in this store.
struct own_row {
    log_row row;
    bool won = false;  // false: unknown
};

struct environment_state {
    std::string directory;
    std::string master_key_file;  // empty: in the directory
    bool read_only = false;
    bool interpolates = true;
    base::wall_ms (*wall)() = nullptr;  // null: the machine's clocks
    base::mono_ns (*mono)() = nullptr;
    timekeeper time;
    std::int64_t event_retention_ms = 0;  // 0: unlimited
    bool records_changes = false;
    std::int64_t change_retention_ms = 0;  // 0: unlimited
    std::uint64_t changes_max = 0;         // 0: unlimited
    std::uint64_t changes_bytes_max = 0;
    // For any thread: what changes took when a writer last looked, and how many it has removed
    // before their time, for room.
    std::atomic<std::uint64_t> changes_bytes{0}, changes_trimmed{0};
    key_time_rules key_times;
    MDB_env* env = nullptr;
    MDB_dbi main = 0;  // the unnamed table, which lists the others
    std::array<MDB_dbi, table_count> tables{};
    std::string_view map;  // the mapped file, with the space it may grow into; empty: not known
    mapped_pages pages;    // a view of `map`
    damage_log damage;
    std::uint64_t map_bytes = 0;
    // Upper bound of the file: `map_bytes`, or slightly more than the used size of a store that was
    // opened with a smaller bound, so that deletions still work.
    std::uint64_t file_bytes_max = 0;
    std::uint64_t page_bytes = 0;
    std::array<char, 32> master_key{};
    bool has_master_key = false;
    write_lock lock;
    std::atomic<base::mono_ns> lock_patience{write_lock::for_ever};
    base::descriptor claim;  // on server.lock
    lock_mark mark;
    // Offset up to which the disk has allocated the file's blocks. Only grows, so any thread may
    // read it, and another process can only have allocated more.
    std::atomic<std::uint64_t> reserved{0};
    std::pair<std::uint64_t, std::uint64_t> identity{};  // device and inode of the directory
    // Set when the store is opened, initialised or loaded as a node of a cluster, and when a log is
    // attached, before the writer starts.
    std::optional<cluster_id> cluster;
    shared_log* log = nullptr;

    // The members up to `has_turn` belong to the holder of the write lock.

    // When this process last moved the age time (transaction::age_time), on the clock of `uptime`.
    base::mono_ns aged_at = 0;
    // Id of the last transaction that was committed only to make freed pages reusable.
    std::uint64_t pages_usable_since = 0;
    // How long a deletion waits for readers of older states (await_readers), and the state of the
    // last one that did not leave within that time.
    base::mono_ns readers_patience = 500 * base::millisecond;
    std::uint64_t lasting_reader = 0;
    std::optional<own_row> unapplied_row;
    std::uint64_t position = 0;  // in the cluster's log, as of its last transaction
    // The position of the last row up to `position` that others confirm, or a later one where that
    // is not known.
    std::uint64_t urgent_position = 0;
    // The position of the own row that lost last: the next transaction that decides fetches the
    // rows up to it. 0: none.
    std::uint64_t lost_position = 0;
    // Other nodes append too: the last fetch brought rows of theirs.
    bool is_contended = false;
    // The position after the last fetch may be reserved: nothing was appended or released since.
    // Looked at without the write lock too.
    std::atomic<bool> has_turn = false;
    // Reads LMDB's list of free pages; reset between uses, so that it keeps its reader slot.
    MDB_txn* free_list_txn = nullptr;

    environment_state() = default;
    environment_state(environment_state const&) = delete;
    environment_state& operator=(environment_state const&) = delete;
    ~environment_state();

    base::instant clocks() const;
    // The monotonic clock plus the time that the machine was suspended.
    base::mono_ns uptime() const;

    MDB_dbi dbi(table table) const { return tables[static_cast<std::size_t>(table)]; }

    // Registers the directory (`identity`) as open in this process; ends the process if it is open
    // already, since two environments of one file would release each other's file locks.
    void register_directory(std::uint64_t device, std::uint64_t inode);
    // Claims the directory for a server (claim.hpp) unless it is claimed already.
    base::result<void> claim_for_server();
    // Computes `file_bytes_max` from what the store uses now.
    void update_file_bound();
};

}  // namespace latchkey::store
