// The state behind a snapshot: its read transaction, one list cursor per table, and what was cached
// for the version that it shows. The files that answer queries work on this (lists.cpp, events.cpp,
// id_walk.hpp); its users see snapshot.hpp. One thread. Private to store and domain.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "store/environment_state.hpp"
#include "store/pages/id_tree.hpp"
#include "store/pages/tree_reader.hpp"
#include "store/read_work.hpp"

namespace latchkey::store {

// After a failed commit LMDB answers MDB_PANIC to every thread. The thread that wrote is about to
// report the reason and end the process (transaction::commit); this waits for that, so that no
// other thread ends the process for another reason. Returns at once for any other code.
void await_process_end(int code);
// Ends a process that cannot read its store, with LMDB's reason.
[[noreturn]] void end_unread(int code);

// Deleted users whose posts are still being removed; filled by purging_users.cpp.
struct purging_users {
    std::uint64_t version = UINT64_MAX;  // of the snapshot that `ids` was read from
    std::vector<model::id> ids;          // ascending
    bool damaged = false;                // some could not be read
};

struct snapshot_state {
    explicit snapshot_state(environment_state& environment);
    ~snapshot_state();
    snapshot_state(snapshot_state const&) = delete;
    snapshot_state& operator=(snapshot_state const&) = delete;

    environment_state& store;
    MDB_txn* txn = nullptr;
    MDB_txn* probe = nullptr;  // tells which version is the latest (read_version.hpp)
    bool live = false;
    bool damaged = false;
    std::uint64_t renewals = 0;
    std::uint64_t version = 0;
    std::uint64_t searches = 0;  // of users and posts, without those found in the cache
    read_work work;
    purging_users purging;
    struct table_cursor {
        MDB_cursor* native = nullptr;
        std::uint64_t renewals = 0;  // when it was last renewed
    };
    std::array<table_cursor, table_count> cursors{};  // for lists
    std::array<table_cursor, table_count> probes{};   // to check the neighbours of a missing key

    // The value under a key, with its checksum.
    std::optional<std::string_view> find(table table, std::string_view key);
    // The content under a key. nullopt: there is none, or it is damaged or not surely absent, and
    // then `damaged` is set.
    std::optional<std::string_view> get(table table, std::string_view key);
    // The record of a user or a post; a search is counted in `searches`.
    std::optional<std::string_view> record(table table, model::id id);
    // The same for a list, which counts nothing: its records are not requested one by one.
    std::optional<std::string_view> listed_record(table table, model::id id);
    // Whether a record was read before in this version.
    bool is_cached(table table, model::id id) { return find_cached(table, id) != nullptr; }
    id_tree& tree_of(table table);
    // Null: LMDB met a damaged page and cannot open a cursor.
    MDB_cursor* cursor(table table) { return current(cursors, table); }
    // The content of an entry that LMDB has found.
    std::optional<std::string_view> content(table table, std::string_view key,
                                            std::string_view value);
    // Is every page sound on the path to the key's place, and is `page` that place's leaf?
    bool has_sound_path(table table, std::string_view key,
                        std::optional<std::uint64_t> page = std::nullopt);
    // The answer cannot be trusted: the request is to get internal_error.
    void note_damage(table table, std::string_view key);
    void note_damaged_page(int code);

    // The counters of this version, read once. If they cannot be read: zeros, and `damaged` is set
    // at each call.
    store::counters const& counters();
    bool has_readable_counters() {
        counters();
        return !damaged_counters_;
    }
    tally posts_of(model::id user);  // by status

    // Passes a decoded record on; sets `damaged` for nullopt: the record has another form, or an
    // index entry leads to no record.
    template <class Record>
    std::optional<Record> readable(std::optional<Record> record) {
        if (!record && !std::exchange(damaged, true)) store.damage.note_misfit();
        return record;
    }

  private:
    bool is_absent(table table, std::string_view key);
    std::optional<std::string_view> search(table table, model::id id);
    std::optional<tree_root> root_of(table table);
    tree_reader file();
    MDB_cursor* current(std::array<table_cursor, table_count>& all, table table);

    // Direct-mapped cache of record positions, by the low bits of `name` (LMDB's search took a part
    // in ten of a request's user time). Pages of one version do not move; the next commit
    // invalidates all entries through `version`. The checksum is compared each time.
    struct cached_record {
        std::uint64_t name = 0;
        std::uint64_t version = UINT64_MAX;
        std::string_view bytes;
        std::uint64_t key_checksum = 0;
    };
    static std::uint64_t cache_name(table table, model::id id) {
        return static_cast<std::uint64_t>(id) * table_count + static_cast<std::uint64_t>(table);
    }
    cached_record& cache_slot(table table, model::id id) {
        return cache_[cache_name(table, id) % cache_.size()];
    }

    cached_record const* find_cached(table table, model::id id) {
        auto const& slot = cache_slot(table, id);
        return slot.name == cache_name(table, id) && slot.version == version ? &slot : nullptr;
    }
    std::optional<std::string_view> cached_content(table table, model::id id,
                                                   cached_record const& cached);

    // The pages of the tables of users and of posts, as of a version.
    struct tree {
        std::uint64_t version = UINT64_MAX;
        id_tree pages;
    };

    // The root of a table in LMDB's table of tables, read at most once in a version.
    struct cached_root {
        std::uint64_t version = UINT64_MAX;
        std::optional<tree_root> root;
    };

    std::array<cached_record, 256> cache_{};
    std::array<cached_root, table_count> roots_{};
    std::array<tree, 2> trees_;
    sound_pages sound_pages_;
    std::uint64_t file_bytes_ = 0;  // in use, in the version of sound_pages_
    std::uint64_t counters_version_ = 0;
    store::counters counters_;
    bool damaged_counters_ = false;
};

}  // namespace latchkey::store
