// One write transaction with a sticky error: after the first failure nothing more happens, reads
// find nothing, and the owner of the transaction checks `failure()` before it uses any outcome. So
// commands read like the rules that they implement. One thread; private to the store.
//
// A record without its checksum is such a failure too: a command must not take it for a missing
// one. Code that can do without the record uses `find`.
//
// In a store with a log (shared_log.hpp) it begins with the rows of others that have arrived,
// records what it changes, and commits only if its own row has won its position. Else `commit`
// returns row_lost (decide again), row_unknown, log_away or row_unapplied (lmdb_value.hpp).
//
// A view returned by `get` is invalidated by the next put or erase: decode and decide first, then
// write.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "store/engine/effects.hpp"
#include "store/engine/environment_state.hpp"
#include "store/engine/lmdb_value.hpp"
#include "store/engine/write_capacity.hpp"

namespace latchkey::store {

// What a transaction of a node is begun for. One that decides waits for its turn while other nodes
// append too: else their rows would win, and most of its work be in vain.
enum class intent : std::uint8_t { decide, apply_rows };

class transaction {
  public:
    // Waits for the write lock, which another process may hold for one commit; fails with EBUSY
    // after `environment_state::lock_patience`.
    explicit transaction(environment_state& store, intent intent = intent::apply_rows);
    ~transaction();  // aborts unless committed
    transaction(transaction const&) = delete;
    transaction& operator=(transaction const&) = delete;

    std::uint64_t id() const { return txn_ == nullptr ? 0 : ::mdb_txn_id(txn_); }
    int failure() const { return failure_; }  // an LMDB or errno code; 0: none
    void fail(int code);
    bool is_dirty() const { return dirty_; }
    void force_commit() { dirty_ = true; }  // commit even if nothing else changes

    // The cluster's position that this transaction shows, after `commit` that of its row; 0: none.
    std::uint64_t position() const { return position_; }
    // Rows of others that should be committed before anything is decided: others wait for one, or
    // more have arrived than one transaction applies.
    bool has_urgent_rows() const { return has_urgent_rows_; }
    // Commits these, and begins again at the next position under the same lock: another process
    // that took it meanwhile would wait for the turn that this one has, and this one for the lock.
    void commit_urgent_rows();
    // Takes the time of now for what is decided from here on; at first it is that of the beginning.
    void read_time();
    // A key, its sessions, or the secret of a source of events, is changed by this transaction.
    void note_urgency() { is_urgent_ = true; }
    // The cluster's schema from this transaction's row on, if it is a later one.
    void raise_schema(std::uint32_t schema) {
        dirty_ |= schema > schema_;
        schema_ = std::max(schema_, schema);
    }

    // Are changes to be recorded (records/change_log.hpp)? In a cluster once its schema has them.
    bool records_changes() const {
        return store_.records_changes && known_schema() >= schema_of_changes;
    }
    // May keys of kind `jwt` be written? In a cluster once all of its nodes read them.
    bool records_bearers() const { return known_schema() >= schema_of_bearers; }
    // The sequence that the next change gets.
    model::id next_change();

    // Begins a command; until `allow_growth` it counts as one that only frees. A put that moves the
    // end of the file beyond what `capacity` allows fails with MDB_MAP_FULL.
    void begin_command();
    void allow_growth() { growing_ = true; }

    // Store time (time.hpp), constant within the transaction.
    base::wall_ms now() const { return now_; }
    // The time by which expired records are removed: `now`, unless the clock was more than a day
    // ahead of the last write, which may be a wrong clock as well as an idle store. Then it catches
    // up at twice the pace of the time observed to pass, also across restarts.
    base::wall_ms age_time() const { return age_time_; }
    // Replaces the time of this transaction and its commit; only to repair a store
    // (time_reset.cpp).
    void set_time(base::wall_ms now) {
        now_ = now;
        age_time_ = std::min(age_time_, now);
    }
    // Written with the commit, if anything else was.
    store::counters& counters() { return counters_; }
    // Determined at the first call; `growth` as for find_write_capacity.
    write_capacity const& capacity(std::uint64_t growth = 0);
    environment_state const& store() const { return store_; }
    environment_state& store() { return store_; }

    std::optional<std::string_view> get(table table, std::string_view key);
    // The same, but a damaged record is logged and then treated as missing.
    std::optional<std::string_view> find(table table, std::string_view key);
    bool has(table table, std::string_view key) { return get(table, key).has_value(); }
    void put(table table, std::string_view key, std::string_view value) {
        put(table, key, value, 0);
    }
    // For a key above all others in the table: such puts leave full pages (MDB_APPEND).
    void append(table table, std::string_view key, std::string_view value) {
        put(table, key, value, MDB_APPEND);
    }
    bool erase(table table, std::string_view key);  // false: there was no entry
    // The first key of the index that begins with `prefix`. This and the next functions skip
    // damaged entries.
    std::optional<std::string> first_key_with_prefix(std::string_view prefix);
    model::id last_id(table table);       // of a table whose keys are ids; 0: empty
    std::uint64_t bytes_of(table table);  // that its pages take
    // Removes the first `limit` entries of the index in [begin, end); returns how many.
    std::size_t erase_range(std::string_view begin, std::string_view end, std::size_t limit);
    // Of a table whose keys are ids; nullopt: empty.
    std::optional<model::id> first_id(table table);
    // The ids at the end of the first `limit` keys of the index that begin with `prefix`.
    std::vector<model::id> ids_with_prefix(std::string_view prefix, std::size_t limit);
    // Is one of these ids accepted? In ascending order, until one is. The callback must not write.
    bool any_id_with_prefix(std::string_view prefix, base::function_ref<bool(model::id)> accepts);

    // Visits the entries of a table in order, from the first key not below `begin`, until the
    // visitor returns false. The visitor must not write.
    void scan(table table, std::string_view begin,
              base::function_ref<bool(std::string_view key, std::string_view value)> visitor);

    // Work done so far, in commands and in posts removed with a user.
    std::size_t weight() const { return weight_; }
    void add_weight(std::size_t weight) { weight_ += weight; }

    // 0, or the code of a failure, after which nothing was written. A failed sync ends the process.
    int commit();
    // Commits although nothing has changed, without a row in the log.
    int commit_pages();

    // The last successful check of a caller, so that a thousand commands of one key read its record
    // once. To be reset when a key is changed.
    struct authorization {
        model::id caller = 0;
        std::optional<model::scope> required_scope;
    };
    authorization authorized;

    std::string scratch;         // for encoding records
    std::string change_scratch;  // and changes of which they are a part

  private:
    void begin();
    int commit_locked();
    void put(table table, std::string_view key, std::string_view value, unsigned flags);
    void write(table table, std::string_view key, std::string_view value, unsigned flags);
    bool remove(table table, std::string_view key);
    std::size_t remove_range(std::string_view begin, std::string_view end, std::size_t limit);
    void find_age_time();
    void record(effect const& effect) {
        if (store_.log != nullptr) [[unlikely]]
            encode(effect, effects_);
    }
    // Of a store that is a node. (transaction_rows.cpp)
    bool begin_in_cluster();
    void take_turn();
    void apply_own_row();
    void apply_arrived_rows();
    bool apply(log_row const& row);
    void apply(effect const& effect);
    int append_row();
    void write_position();
    void note_applied();
    // The schema that what this transaction writes may have.
    std::uint32_t known_schema() const {
        return store_.cluster ? std::min(schema_, schema_version) : schema_version;
    }
    int read(table table, std::string_view key, std::string_view& content);
    bool is_absent(table table, std::string_view key);
    bool is_whole(table table, std::string_view key, std::string_view value);
    int write_counters();
    void check_file_end();
    void unlock();

    environment_state& store_;
    intent const intent_;
    MDB_txn* txn_ = nullptr;
    int failure_ = 0;
    bool locked_ = false;
    bool dirty_ = false;
    bool growing_ = false;
    bool has_rows_ = false;  // the position is to be written
    bool has_urgent_rows_ = false;
    bool applied_urgent_rows_ = false;  // one of the rows that were applied
    bool lost_in_turn_ = false;         // the transaction before, though it had waited
    bool is_urgent_ = false;
    bool won_ = false;  // its row is in the log
    bool knows_end_ = false;
    std::uint64_t initial_end_ = 0;  // of the file, in pages, when the command began
    std::size_t weight_ = 0;
    base::wall_ms now_ = 0;
    base::wall_ms age_time_ = 0;
    base::mono_ns uptime_ = 0;
    bool age_lags_ = false;  // the age time is stored, since it is behind
    std::uint64_t position_ = 0;
    std::uint64_t urgent_position_ = 0;  // of the last urgent row that it applies; 0: none
    std::uint32_t schema_ = 0;           // of the cluster
    row_nonce nonce_{};                  // of the row at `position_`
    std::string effects_;
    store::counters counters_;
    model::id last_change_ = -1;  // -1: not known yet
    std::optional<write_capacity> capacity_;
};

}  // namespace latchkey::store
