// A transaction of a store that is a node of a cluster: rows of the log that it applies, and its
// own row.
#include <openssl/rand.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "store/engine/transaction.hpp"

namespace latchkey::store {
namespace {

// Effects that one transaction applies, and so how much a node that was away commits at once.
constexpr std::size_t rows_bytes_max = 4 * base::limits::mib;
// More than that is committed before a group is decided: it would be applied again with each retry,
// which are rare in a turn.
constexpr std::size_t rows_bytes_beside_group = 64 * base::limits::kib;
constexpr std::size_t rows_bytes_in_turn = base::limits::mib;
// Under one lock: where others append without end, what waits here is decided beside their rows.
constexpr int urgent_commits_max = 16;

}  // namespace

// Applies what has arrived, so that whatever is decided in this transaction is decided at the last
// position that is known here. False: it has failed.
bool transaction::begin_in_cluster() {
    if (store_.log == nullptr) fail(log_missing);
    begin_command();
    auto const bytes = get(table::index, key_bytes{tag::position});
    auto const position = bytes ? decode_position(*bytes) : std::nullopt;
    if (!position) fail(MDB_CORRUPTED);  // no effect after an earlier failure
    if (failure_ != 0) return false;
    // Another process has applied rows, of which nothing is known here.
    if (store_.position != position->position) store_.urgent_position = position->position;
    store_.position = position_ = position->position;
    schema_ = position->schema;
    nonce_ = position->nonce;
    if (intent_ == intent::decide) take_turn();
    if (failure_ != 0) return false;
    apply_arrived_rows();
    apply_own_row();
    capacity_.reset();  // what follows grows by other amounts
    return failure_ == 0;
}

// Once a row has lost, the next position is reserved before anything is decided, until a
// reservation brings no row: that append would have won without it. Urgent rows that are here are
// committed first, since others wait for them. Lock order: the store's write lock, then the log's
// head, which `fetch` may reserve. The other way round a command and the service would wait for
// each other.
void transaction::take_turn() {
    bool const has_lost = store_.lost_position != 0;
    if (!has_lost && (!store_.is_contended || store_.has_turn)) return;
    auto const arrived = store_.log->rows_after(position_, rows_bytes_max);
    if (std::ranges::any_of(arrived, &log_row::urgent)) return;
    auto const target = std::exchange(store_.lost_position, 0);
    lost_in_turn_ = has_lost && store_.is_contended;
    store_.has_turn = true;
    store_.is_contended = store_.log->fetch(position_);
    if (!store_.is_contended && position_ < target) fail(log_away);
}

// Nothing may happen before the row is settled. It came after rows that were applied in its own
// transaction, so these are applied again first; one that is still missing is fetched after the
// next row has lost.
void transaction::apply_own_row() {
    auto const& own = store_.unapplied_row;
    if (failure_ != 0 || !own || own->row.position <= position_) return;
    if (!own->won) return fail(row_unknown);
    if (own->row.position == position_ + 1) apply(own->row);
}

void transaction::apply_arrived_rows() {
    std::size_t size = 0;
    for (auto const& row : store_.log->rows_after(position_, rows_bytes_max)) {
        size += row.effects.size();
        // What came before a row that cannot be applied is committed all the same.
        has_urgent_rows_ |= has_rows_ && row.schema > row_schema();
        if (has_rows_ && row.schema > row_schema()) break;
        if (!apply(row)) return;
    }
    auto const size_max = store_.has_turn ? rows_bytes_in_turn : rows_bytes_beside_group;
    has_urgent_rows_ |= has_rows_ && (size > size_max || lost_in_turn_);
}

bool transaction::apply(log_row const& row) {
    // cluster::link keeps rows only in the order of their positions, whatever a helper sends.
    base::check(row.position == position_ + 1, "a gap in the rows of the log");
    if (row.schema > row_schema()) fail(row_newer);
    // Other nodes may have more room. The bound is that of deletions, or a store at the bound of
    // growth could not follow the deletions of others.
    if (!capacity(2 * row.effects.size()).write) fail(rows_blocked);
    begin_command();
    effect_reader effects(row.effects);
    while (auto const each = effects.next()) {
        if (failure_ != 0) break;
        apply(*each);
    }
    if (!effects.ok()) fail(MDB_CORRUPTED);
    if (failure_ == MDB_MAP_FULL) failure_ = rows_blocked;
    position_ = row.position;
    schema_ = std::max(schema_, row.schema);
    nonce_ = row.nonce;
    has_rows_ = true;
    applied_urgent_rows_ |= row.urgent;
    if (row.urgent) urgent_position_ = row.position;
    has_urgent_rows_ |= row.urgent;
    return failure_ == 0;
}

void transaction::apply(effect const& effect) {
    switch (effect.kind) {
        case effect_kind::put:
            return write(effect.table, effect.key, effect.content, 0);
        case effect_kind::append:
            return write(effect.table, effect.key, effect.content, MDB_APPEND);
        case effect_kind::erase:
            remove(effect.table, effect.key);
            return;
        case effect_kind::erase_range:
            remove_range(effect.key, effect.content, effect.count);
            return;
    }
}

// The row is appended before LMDB commits: a crash in between leaves a row that the next start
// applies, while a commit without a row could never be taken back.
int transaction::append_row() {
    if (dirty_) {
        if (effects_.size() > row_bytes_max) fail(EFBIG);
        if (failure_ != 0) return failure_;
        log_row row{.position = position_ + 1,
                    .previous = nonce_,
                    .schema = schema_,
                    .urgent = is_urgent_,
                    .effects = std::move(effects_)};
        ::RAND_bytes(reinterpret_cast<unsigned char*>(row.nonce.data()), row.nonce.size());
        store_.has_turn = false;
        auto const result = store_.log->append(row);
        if (result == append_result::lost) {
            store_.lost_position = row.position;
            fail(row_lost);
        }
        if (result == append_result::unavailable) fail(log_away);
        if (result == append_result::unknown) fail(row_unknown);
        won_ = result == append_result::won;
        nonce_ = row.nonce;
        if (!won_ && result != append_result::unknown) return failure_;
        store_.unapplied_row = {std::move(row), won_};
        ++position_;  // also where it is unknown: outcomes are of that position, if it has won
        if (!won_) return failure_;
    }
    write_position();
    if (failure_ == MDB_MAP_FULL) failure_ = won_ ? row_unapplied : rows_blocked;
    return failure_;
}

void transaction::write_position() {
    begin_command();
    encode(cluster_position{*store_.cluster, position_, schema_, nonce_}, scratch);
    write(table::index, key_bytes{tag::position}, scratch, 0);
}

void transaction::commit_urgent_rows() {
    for (int commits = 0; failure_ == 0 && has_urgent_rows_; ++commits) {
        if (commits == urgent_commits_max) return;
        int const code = commit_locked();
        if (code != 0) return fail(code == MDB_MAP_FULL ? rows_blocked : code);
        has_rows_ = has_urgent_rows_ = applied_urgent_rows_ = lost_in_turn_ = false;
        urgent_position_ = 0;
        begin();
    }
}

void transaction::note_applied() {
    auto& own = store_.unapplied_row;
    if (own && own->row.position <= position_) own.reset();
    store_.position = position_;
    if (is_urgent_) urgent_position_ = position_;
    if (urgent_position_ != 0) store_.urgent_position = urgent_position_;
    store_.log->applied(position_, nonce_, is_urgent_ || applied_urgent_rows_);
}

}  // namespace latchkey::store
