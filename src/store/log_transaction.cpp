// At its begin a transaction reads the node's position, may wait for its turn, and applies the rows
// that have arrived, each as the puts and erasures in it; then it applies its own row of before, if
// that has won and was not applied. `append_row` sends the recorded effects with a random nonce;
// the position goes into the same LMDB commit as the changes.
#include "store/log_transaction.hpp"

#include <openssl/rand.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.hpp"
#include "base/limits.hpp"

namespace latchkey::store {
namespace {

// Effects that one transaction applies, and so how much a node that was away commits at once.
constexpr std::size_t rows_bytes_max = 4 * base::limits::mib;
// More than that is committed before a group is decided: it would be applied again with each retry,
// which are rare in a turn.
constexpr std::size_t rows_bytes_beside_group = 64 * base::limits::kib;
constexpr std::size_t rows_bytes_in_turn = base::limits::mib;

}  // namespace

log_transaction::log_transaction(table_transaction& tables, intent intent)
    : tables_(tables), store_(tables.store()), intent_(intent) {}

bool log_transaction::begin() {
    has_rows_ = has_urgent_rows_ = applied_urgent_rows_ = lost_in_turn_ = false;
    urgent_position_ = 0;
    if (store_.log == nullptr) tables_.fail(commit_fate::log_missing);
    tables_.begin_command();
    auto const bytes = tables_.get(table::index, key_bytes{tag::position});
    auto const position = bytes ? decode_position(*bytes) : std::nullopt;
    if (!position) tables_.fail(MDB_CORRUPTED);  // no effect after an earlier failure
    if (!tables_.ok()) return false;
    // Another process has applied rows, of which nothing is known here.
    if (store_.position != position->position) store_.urgent_position = position->position;
    store_.position = position_ = position->position;
    schema_ = position->schema;
    nonce_ = position->nonce;
    if (intent_ == intent::decide) take_turn();
    if (!tables_.ok()) return false;
    apply_arrived_rows();
    apply_own_row();
    tables_.forget_capacity();
    return tables_.ok();
}

bool log_transaction::raise_schema(std::uint32_t schema) {
    bool const is_later = schema > schema_;
    schema_ = std::max(schema_, schema);
    return is_later;
}

// Once a row has lost, the next position is reserved before anything is decided, until a
// reservation brings no row: that append would have won without it. Urgent rows that are here are
// committed first, since others wait for them. Lock order: the store's write lock, then the log's
// head, which `fetch` may reserve. The other way round a command and the service would wait for
// each other.
void log_transaction::take_turn() {
    bool const has_lost = store_.lost_position != 0;
    if (!has_lost && (!store_.is_contended || store_.has_turn)) return;
    auto const arrived = store_.log->rows_after(position_, rows_bytes_max);
    if (std::ranges::any_of(arrived, &log_row::urgent)) return;
    auto const target = std::exchange(store_.lost_position, 0);
    lost_in_turn_ = has_lost && store_.is_contended;
    store_.has_turn = true;
    store_.is_contended = store_.log->fetch(position_);
    if (!store_.is_contended && position_ < target) tables_.fail(commit_fate::log_away);
}

// Nothing may happen before the row is settled. It came after rows that were applied in its own
// transaction, so these are applied again first; one that is still missing is fetched after the
// next row has lost.
void log_transaction::apply_own_row() {
    auto const& own = store_.unapplied_row;
    if (!tables_.ok() || !own || own->row.position <= position_) return;
    if (!own->won) return tables_.fail(commit_fate::row_unknown);
    if (own->row.position == position_ + 1) apply(own->row);
}

void log_transaction::apply_arrived_rows() {
    std::size_t size = 0;
    for (auto const& row : store_.log->rows_after(position_, rows_bytes_max)) {
        size += row.effects.size();
        // Rows before one that cannot be applied are committed all the same.
        has_urgent_rows_ |= has_rows_ && row.schema > row_schema();
        if (has_rows_ && row.schema > row_schema()) break;
        if (!apply(row)) return;
    }
    auto const size_max = store_.has_turn ? rows_bytes_in_turn : rows_bytes_beside_group;
    has_urgent_rows_ |= has_rows_ && (size > size_max || lost_in_turn_);
}

bool log_transaction::apply(log_row const& row) {
    // cluster::helper_client keeps rows only in the order of their positions, whatever comes.
    base::check(row.position == position_ + 1, "a gap in the rows of the log");
    if (row.schema > row_schema()) tables_.fail(commit_fate::row_newer);
    // Other nodes may have more room. The bound is that of deletions, or a store at the bound of
    // growth could not follow the deletions of others.
    if (!tables_.capacity(2 * row.effects.size()).write) tables_.fail(commit_fate::rows_blocked);
    tables_.begin_command();
    effect_reader effects(row.effects);
    while (auto const each = effects.next()) {
        if (!tables_.ok()) break;
        apply(*each);
    }
    if (!effects.ok()) tables_.fail(MDB_CORRUPTED);
    tables_.replace_full(commit_fate::rows_blocked);
    position_ = row.position;
    schema_ = std::max(schema_, row.schema);
    nonce_ = row.nonce;
    has_rows_ = true;
    applied_urgent_rows_ |= row.urgent;
    if (row.urgent) urgent_position_ = row.position;
    has_urgent_rows_ |= row.urgent;
    return tables_.ok();
}

void log_transaction::apply(effect const& effect) {
    switch (effect.kind) {
        case effect_kind::put:
            return tables_.write(effect.table, effect.key, effect.content, 0);
        case effect_kind::append:
            return tables_.write(effect.table, effect.key, effect.content, MDB_APPEND);
        case effect_kind::erase:
            tables_.remove(effect.table, effect.key);
            return;
        case effect_kind::erase_range:
            tables_.remove_range(effect.key, effect.content, effect.count);
            return;
    }
}

commit_result log_transaction::append_row(bool has_effects) {
    if (has_effects) {
        if (effects_.size() > row_bytes_max) tables_.fail(EFBIG);
        if (!tables_.ok()) return tables_.failure();
        log_row row{.position = position_ + 1,
                    .nonce = {},
                    .schema = schema_,
                    .urgent = is_urgent_,
                    .effects = std::move(effects_),
                    .previous = nonce_};
        ::RAND_bytes(reinterpret_cast<unsigned char*>(row.nonce.data()), row.nonce.size());
        store_.has_turn = false;
        auto const result = store_.log->append(row);
        if (result == append_result::lost) {
            store_.lost_position = row.position;
            tables_.fail(commit_fate::row_lost);
        }
        if (result == append_result::unavailable) tables_.fail(commit_fate::log_away);
        if (result == append_result::unknown) tables_.fail(commit_fate::row_unknown);
        won_ = result == append_result::won;
        nonce_ = row.nonce;
        if (!won_ && result != append_result::unknown) return tables_.failure();
        store_.unapplied_row = {std::move(row), won_};
        ++position_;  // also where it is unknown: outcomes are of that position, if it has won
        if (!won_) return tables_.failure();
    }
    write_position();
    tables_.replace_full(won_ ? commit_fate::row_unapplied : commit_fate::rows_blocked);
    return tables_.failure();
}

void log_transaction::write_position() {
    tables_.begin_command();
    encode(cluster_position{*store_.cluster, position_, schema_, nonce_}, tables_.scratch);
    tables_.write(table::index, key_bytes{tag::position}, tables_.scratch, 0);
}

void log_transaction::note_applied() {
    auto& own = store_.unapplied_row;
    if (own && own->row.position <= position_) own.reset();
    store_.position = position_;
    if (is_urgent_) urgent_position_ = position_;
    if (urgent_position_ != 0) store_.urgent_position = urgent_position_;
    store_.log->applied(position_, nonce_, is_urgent_ || applied_urgent_rows_);
}

}  // namespace latchkey::store
