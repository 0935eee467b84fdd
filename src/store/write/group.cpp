#include "store/write/group.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/limits.hpp"
#include "base/log.hpp"
#include "store/engine/lmdb_value.hpp"
#include "store/records/change_log.hpp"
#include "store/records/event_record.hpp"
#include "store/records/rejection.hpp"
#include "store/write/decide.hpp"
#include "store/write/idempotency.hpp"
#include "store/write/purge.hpp"
#include "store/write/replication.hpp"
#include "store/write/usage.hpp"

namespace latchkey::store {
namespace {

constexpr std::size_t bytes_per_weight =
    base::limits::command_bytes_per_commit_max / base::limits::commands_per_commit_max;

// How many commands of a group are skipped, one per retry, before the rest waits for the next
// group.
constexpr std::size_t skipped_max = 8;

struct attempt {
    bool has_transaction = true;
    bool decided = false;  // all jobs that fit have outcomes; a failure came afterwards
    std::size_t applied = 0;
    bool lacked_capacity = false;  // failure of the last job applied
    bool committed = false;
    bool more_to_purge = false;
    bool more_expired = false;
    bool freed_when_full = false;
    int failure = 0;
};

std::size_t weight_max(transaction& txn) {
    return txn.is_dirty() ? txn.capacity().weight_max : base::limits::commands_per_commit_max;
}

// Removes what earlier groups left: posts of deleted users and expired records, within the weight
// that is left in the transaction.
void clean_up(transaction& txn, std::size_t purge_max, attempt& result) {
    result.more_to_purge = txn.counters().purges != 0;
    if (purge_max == 0) return;
    auto const clamp_count = [&](std::size_t count) {
        auto const maximum = txn.capacity().weight_max;
        // A quarter in any case, so that full groups cannot stop removal.
        auto const minimum = maximum == base::limits::commands_per_commit_max ? maximum / 4 : 0;
        return std::min(count, std::max(maximum - std::min(maximum, txn.weight()), minimum));
    };
    if (!txn.capacity().write) {
        result.more_to_purge = false;  // later groups check again
        return;
    }
    // An idle server records its time every few minutes, so that store time survives it.
    if (result.applied == 0 && txn.now() - txn.counters().written_at >= base::limits::time_mark_ms)
        txn.force_commit();
    if (txn.counters().purges != 0) purge_posts(txn, clamp_count(purge_max));
    result.more_to_purge = txn.counters().purges != 0;
    result.more_expired = expire_usage(txn, clamp_count(purge_max));
    result.more_expired |= expire_events(txn, clamp_count(purge_max));
    result.more_expired |= expire_changes(txn, clamp_count(purge_max));
    if (has_expired_outcomes(txn))
        result.more_expired |=
            expire_outcomes(txn, clamp_count(std::max(purge_max, 2 * result.applied)));
}

outcome failure_outcome(int code) {
    if (code == MDB_MAP_FULL) return reject(base::problem::storage_full);
    if (code == EBUSY) return reject(base::problem::store_busy);
    if (is_of_cluster(code)) return reject(base::problem::behind);
    if (code == record_damaged)
        return reject(base::problem::internal_error);  // logged where it was read
    base::log(base::severity::failure, lmdb_error("a command failed in the store", code).message);
    return reject(base::problem::internal_error);
}

// The jobs of a group's attempts.
struct job_batch {
    std::span<job const> jobs;
    bool is_collected = false;
    std::vector<std::size_t> skipped;  // indexes of jobs that were found to exceed the capacity

    void collect(job_source source) {
        if (!std::exchange(is_collected, true)) jobs = source();
    }
    // What was found at another state of the store does not count.
    void begin_again() {
        is_collected = false;
        skipped.clear();
    }
};

attempt try_group(environment_state& store, job_source source, job_batch& batch,
                  std::size_t purge_max) {
    transaction txn(store, intent::decide);
    txn.commit_urgent_rows();
    batch.collect(source);
    txn.read_time();  // some commands may have come after the transaction began
    auto const jobs = batch.jobs;
    auto const& skipped = batch.skipped;
    attempt result;
    result.failure = txn.failure();
    result.has_transaction = result.failure == 0;
    while (result.failure == 0 && result.applied < jobs.size() && txn.weight() < weight_max(txn)) {
        auto const index = result.applied++;
        auto const& each = jobs[index];
        if (std::ranges::find(skipped, index) != skipped.end()) {
            *each.outcome = failure_outcome(MDB_MAP_FULL);
            continue;
        }
        txn.begin_command();
        *each.outcome = decide(txn, *each.command);
        txn.add_weight(1 + each.command->bytes() / bytes_per_weight);
        result.failure = txn.failure();
        result.lacked_capacity = result.failure == MDB_MAP_FULL;
    }
    txn.begin_command();
    if (result.failure != 0) return result;
    result.decided = true;
    clean_up(txn, purge_max, result);
    result.committed = txn.is_dirty();
    result.freed_when_full = txn.is_dirty() && !txn.capacity().grow;
    result.failure = txn.commit();
    if (store.cluster)
        for (auto const& each : jobs.first(result.applied)) each.outcome->position = txn.position();
    return result;
}

// Commits a transaction that changes nothing else. LMDB reuses pages in the second transaction
// after the one that freed them; in a full store only deletions are admitted, so without this the
// last of them would not make space. False: nothing was freed since the last time.
bool make_freed_pages_usable(environment_state& store) {
    transaction txn(store);
    if (txn.failure() != 0 || store.pages_usable_since + 1 == txn.id()) return false;
    auto const number = txn.id();
    if (txn.commit_pages() != 0) return false;
    store.pages_usable_since = number;
    return true;
}

// What became of a group whose row did not simply win. nullopt: decide again.
std::optional<group_result> follow_log(std::span<job const> batch, attempt const& result,
                                       int& rounds) {
    int code = result.failure;
    if (code == row_lost) {
        if (++rounds <= rounds_max) return std::nullopt;
        code = log_away;
    }
    if (code == row_unapplied) return group_result{.job_count = result.applied, .committed = true};
    if (code == row_unknown && result.decided)
        return group_result{.job_count = result.applied, .unresolved = true, .failure = code};
    // Nothing was appended. A transaction that could not even begin has no outcome of any job.
    auto const count = result.has_transaction ? result.applied : batch.size();
    for (auto const& each : batch.first(count)) *each.outcome = failure_outcome(code);
    return group_result{.job_count = count, .failure = code};
}

}  // namespace

// A node whose row loses leaves it at that: others have recorded the time then.
void record_time(environment_state& store) {
    constexpr base::wall_ms interval_min = 1000;
    transaction txn(store);
    if (txn.failure() != 0 || txn.now() - txn.counters().written_at < interval_min) return;
    if (!txn.capacity().write) return;
    txn.force_commit();
    txn.commit();
}

group_result apply_group(environment_state& store, std::span<job const> jobs,
                         std::size_t purge_max) {
    return apply_group(store, [&] { return jobs; }, purge_max);
}

group_result apply_group(environment_state& store, job_source source, std::size_t purge_max) {
    job_batch batch;
    auto& jobs = batch.jobs;
    auto& skipped = batch.skipped;
    bool waited_for_pages = false;
    int rounds = 0;  // that were lost
    for (;;) {
        auto const result = try_group(store, source, batch, purge_max);
        if (is_of_cluster(result.failure)) {
            if (auto const followed = follow_log(jobs, result, rounds)) {
                give_up_turn(store);
                return *followed;
            }
            batch.begin_again();
            continue;
        }
        give_up_turn(store);
        if (result.failure == 0) {
            if (result.freed_when_full) make_freed_pages_usable(store);
            return {result.applied, result.committed, result.more_to_purge, result.more_expired, 0};
        }
        if (!result.has_transaction) {
            for (auto const& each : jobs) *each.outcome = failure_outcome(result.failure);
            return {.job_count = jobs.size(), .failure = result.failure};
        }
        if (jobs.empty()) {
            base::log(base::severity::failure,
                      lmdb_error("expired records cannot be removed from the store", result.failure)
                          .message);
            return {.more_to_purge = true, .failure = result.failure};
        }
        if (result.lacked_capacity) {
            if (!std::exchange(waited_for_pages, true) && make_freed_pages_usable(store)) continue;
            // The others may fit. If many do not, the rest waits for the next group.
            skipped.push_back(result.applied - 1);
            if (skipped.size() >= skipped_max) jobs = jobs.first(result.applied);
        } else if (result.failure == record_damaged && !result.decided && result.applied > 1) {
            jobs = jobs.first(result.applied - 1);  // the jobs before it are not affected
        } else if (purge_max != 0) {
            purge_max = 0;  // the removal may be the cause: commands must not fail for it
        } else if (result.applied == 1) {
            *jobs.front().outcome = failure_outcome(result.failure);
            return {.job_count = 1};
        } else {
            // All outcomes of this attempt are void. Bisect: fewer jobs may succeed, and a single
            // one gets its own failure.
            jobs = jobs.first(result.applied / 2);
        }
    }
}

}  // namespace latchkey::store
