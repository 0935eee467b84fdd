// What a write transaction of a node of a cluster does beside its own changes (shared_log.hpp): it
// begins with the rows of others that have arrived, and commits only if its own row, with the
// effects of all that it changes, has won its position. Held by a transaction (transaction.hpp) of
// a store that is a node; any other has none. One thread; private to the store.
//
// Fates: row_lost (decide again), row_unknown, log_away, row_unapplied … (commit_fate.hpp).
#pragma once

#include <string>

#include "store/effects.hpp"
#include "store/table_transaction.hpp"

namespace latchkey::store {

// What a transaction of a node is begun for. One that decides waits for its turn while other nodes
// append too: else their rows would win, and most of its work be in vain.
enum class intent : std::uint8_t { decide, apply_rows };

class log_transaction {
  public:
    log_transaction(table_transaction& tables, intent intent);

    // In a transaction that has begun, also when it begins again: applies what has arrived, so that
    // whatever is decided then is decided at the last position that is known here. False: it has
    // failed.
    bool begin();
    // The cluster's position that the transaction shows, after the commit that of its row.
    std::uint64_t position() const { return position_; }
    std::uint32_t schema() const { return schema_; }  // of the cluster
    // True: that is a later one.
    bool raise_schema(std::uint32_t schema);
    bool has_rows() const { return has_rows_; }
    bool has_urgent_rows() const { return has_urgent_rows_; }
    bool has_won() const { return won_; }  // its row is in the log

    void record(effect const& effect) { encode(effect, effects_); }
    void note_urgency() { is_urgent_ = true; }
    void force_position() { has_rows_ = true; }  // it is written even if nothing has changed

    // The row is appended before LMDB commits: a crash in between leaves a row that the next start
    // applies, while a commit without a row could never be taken back. `has_effects`: there is one.
    commit_result append_row(bool has_effects);
    void note_applied();  // after the commit

  private:
    void take_turn();
    void apply_own_row();
    void apply_arrived_rows();
    bool apply(log_row const& row);
    void apply(effect const& effect);
    void write_position();

    table_transaction& tables_;
    environment_state& store_;
    intent const intent_;
    bool has_rows_ = false;  // the position is to be written
    bool has_urgent_rows_ = false;
    bool applied_urgent_rows_ = false;  // one of the rows that were applied
    bool lost_in_turn_ = false;         // the transaction before, though it had waited
    bool is_urgent_ = false;
    bool won_ = false;
    std::uint64_t position_ = 0;
    std::uint64_t urgent_position_ = 0;  // of the last urgent row that it applies; 0: none
    std::uint32_t schema_ = 0;
    row_nonce nonce_{};  // of the row at `position_`
    std::string effects_;
};

}  // namespace latchkey::store
