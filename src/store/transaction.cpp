#include "store/transaction.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "base/time_units.hpp"

namespace latchkey::store {
namespace {

// Under one lock: where others append without end, what waits here is decided beside their rows.
constexpr int urgent_commits_max = 16;

}  // namespace

transaction::transaction(environment_state& store, intent intent) : table_transaction(store) {
    if (store.cluster) log_.emplace(*this, intent);
    begin();
}

void transaction::begin() {
    if (!begin_tables()) return;
    if (log_ && !log_->begin()) return;
    begin_command();
    auto const bytes = get(table::index, key_bytes{tag::counters});
    auto const counters = bytes ? decode_counters(*bytes) : std::nullopt;
    if (!counters) {
        fail(MDB_CORRUPTED);  // no effect after a damaged record, which failed already
        return;
    }
    counters_ = *counters;
    read_time();
}

void transaction::read_time() {
    if (!ok()) return;
    now_ = store().time.time_at(store().clocks(), counters_.written_at);
    find_age_time();
}

void transaction::find_age_time() {
    constexpr base::mono_ns half_ms = base::millisecond / 2;  // twice the pace of uptime
    uptime_ = store().uptime();
    auto const bytes = find(table::index, key_bytes{tag::age_time});
    age_lags_ = bytes.has_value();
    auto const previous =
        bytes ? read_id(*bytes).value_or(counters_.written_at) : counters_.written_at;
    auto const gap = now_ - previous;
    age_time_ = previous == 0 || gap <= base::limits::clock_step_ms_max
                    ? now_
                    : previous + std::min(gap, (uptime_ - store().aged_at) / half_ms);
}

void transaction::put(table table, std::string_view key, std::string_view value, unsigned flags) {
    if (!ok()) return;
    dirty_ = true;
    auto const kind = (flags & MDB_APPEND) != 0 ? effect_kind::append : effect_kind::put;
    record({.kind = kind, .table = table, .key = key, .content = value});
    write(table, key, value, flags);
}

bool transaction::erase(table table, std::string_view key) {
    if (!ok() || !remove(table, key)) return false;
    dirty_ = true;
    record({.kind = effect_kind::erase, .table = table, .key = key});
    return true;
}

std::size_t transaction::erase_range(std::string_view begin, std::string_view end,
                                     std::size_t limit) {
    if (!ok() || limit == 0) return 0;
    auto const removed = remove_range(begin, end, limit);
    if (removed == 0) return 0;
    dirty_ = true;
    record({.kind = effect_kind::erase_range,
            .key = begin,
            .content = end,
            .count = static_cast<std::uint32_t>(removed)});
    return removed;
}

model::id transaction::next_change() {
    if (last_change_ < 0) last_change_ = last_id(table::changes);
    return ++last_change_;
}

void transaction::write_counters() {
    begin_command();
    counters_.written_at = now_;
    encode(counters_, scratch, known_schema());
    put(table::index, key_bytes{tag::counters}, scratch);
    std::array<char, 8> value;
    if (age_time_ < now_)
        put(table::index, key_bytes{tag::age_time}, id_value(age_time_, value));
    else if (age_lags_)
        erase(table::index, key_bytes{tag::age_time});
}

commit_result transaction::commit() {
    if (!ok()) return failure();
    if (!dirty_ && !(log_ && log_->has_rows())) return {};
    auto const result = commit_locked();
    if (result.ok()) unlock();
    return result;
}

commit_result transaction::commit_locked() {
    if (dirty_) write_counters();
    if (!ok()) return failure();
    if (log_)
        if (auto const result = log_->append_row(dirty_); !result.ok()) return result;
    int const code = commit_tables();
    if (code == 0) {
        store().aged_at = uptime_;
        if (log_) log_->note_applied();
        return {};
    }
    // LMDB reports the end of the map before it writes the first page: nothing has happened.
    if (code == MDB_MAP_FULL)
        return log_ && log_->has_won() ? commit_result(commit_fate::row_unapplied) : code;
    // After any other failure the state of the disk is unknown, and a second fsync would not tell:
    // end without acknowledging anything. The next start finds the last complete commit.
    base::log(
        base::severity::failure,
        lmdb_error("the store cannot be written; ending without acknowledging", code).message);
    ::_exit(1);
}

void transaction::commit_urgent_rows() {
    for (int commits = 0; ok() && has_urgent_rows(); ++commits) {
        if (commits == urgent_commits_max) return;
        auto const result = commit_locked();
        if (!result.ok()) return fail(result == MDB_MAP_FULL ? commit_fate::rows_blocked : result);
        begin();
    }
}

commit_result transaction::commit_pages() {
    if (log_)
        log_->force_position();
    else
        dirty_ = true;
    return commit();
}

}  // namespace latchkey::store
