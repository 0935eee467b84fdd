// One write transaction as commands see it: tables whose changes are recorded where others apply
// them, store time, counters and the work done so far. Its error is sticky (table_transaction.hpp),
// so commands read like the rules that they implement. One thread; private to the store.
//
// In a store that is a node of a cluster it begins with the rows of others that have arrived, and
// commits only if its own row has won its position (log_transaction.hpp).
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "store/log_transaction.hpp"
#include "store/table_transaction.hpp"

namespace latchkey::store {

class transaction : public table_transaction {
  public:
    // Waits for the write lock, which another process may hold for one commit; fails with EBUSY
    // after `environment_state::lock_patience`.
    explicit transaction(environment_state& store, intent intent = intent::apply_rows);

    bool is_dirty() const { return dirty_; }
    void force_commit() { dirty_ = true; }  // commit even if nothing else changes

    // The cluster's position that this transaction shows, after `commit` that of its row; 0: none.
    std::uint64_t position() const { return log_ ? log_->position() : 0; }
    // Rows of others that should be committed before anything is decided: others wait for one, or
    // more have arrived than one transaction applies.
    bool has_urgent_rows() const { return log_ && log_->has_urgent_rows(); }
    // Commits these, and begins again at the next position under the same lock: another process
    // that took it meanwhile would wait for the turn that this one has, and this one for the lock.
    void commit_urgent_rows();
    // A key, its sessions, or the secret of a source of events, is changed by this transaction.
    void note_urgency() {
        if (log_) log_->note_urgency();
    }
    // The cluster's schema from this transaction's row on, if it is a later one.
    void raise_schema(std::uint32_t schema) { dirty_ |= !log_ || log_->raise_schema(schema); }

    // Are changes to be recorded (change_log.hpp)? In a cluster once its schema has them.
    bool records_changes() const {
        return store().records_changes && known_schema() >= schema_of_changes;
    }
    // May keys of kind `jwt` be written? In a cluster once all of its nodes read them.
    bool records_bearers() const { return known_schema() >= schema_of_bearers; }
    // May keys have the scope `keys:verify_all`? An older program takes such a record for damaged.
    bool records_verify_all() const { return known_schema() >= schema_of_verify_all; }
    // The sequence that the next change gets.
    model::id next_change();

    // Takes the time of now for what is decided from here on; at first it is that of the beginning.
    void read_time();
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

    void put(table table, std::string_view key, std::string_view value) {
        put(table, key, value, 0);
    }
    // For a key above all others in the table: such puts leave full pages (MDB_APPEND).
    void append(table table, std::string_view key, std::string_view value) {
        put(table, key, value, MDB_APPEND);
    }
    bool erase(table table, std::string_view key);  // false: there was no entry
    // Removes the first `limit` entries of the index in [begin, end); returns how many.
    std::size_t erase_range(std::string_view begin, std::string_view end, std::size_t limit);

    // Work done so far, in commands and in posts removed with a user.
    std::size_t weight() const { return weight_; }
    void add_weight(std::size_t weight) { weight_ += weight; }

    // Unless it is `committed`, nothing was written. A failed sync ends the process.
    commit_result commit();
    // Commits although nothing has changed, without a row in the log.
    commit_result commit_pages();

    std::string change_scratch;  // for encoding changes, of which records are a part

  private:
    void begin();
    commit_result commit_locked();
    void put(table table, std::string_view key, std::string_view value, unsigned flags);
    void find_age_time();
    void record(effect const& effect) {
        if (log_) [[unlikely]]
            log_->record(effect);
    }
    // The schema that what this transaction writes may have.
    std::uint32_t known_schema() const {
        return log_ ? std::min(log_->schema(), schema_version) : schema_version;
    }
    void write_counters();

    std::optional<log_transaction> log_;  // of a store that is a node
    bool dirty_ = false;
    std::size_t weight_ = 0;
    base::wall_ms now_ = 0;
    base::wall_ms age_time_ = 0;
    base::mono_ns uptime_ = 0;
    bool age_lags_ = false;  // the age time is stored, since it is behind
    store::counters counters_;
    model::id last_change_ = -1;  // -1: not known yet
};

}  // namespace latchkey::store
