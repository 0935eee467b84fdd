#include "domain/writer/group.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/events/event_record.hpp"
#include "domain/idempotency/idempotency.hpp"
#include "domain/posts/purge.hpp"
#include "domain/usage/usage_commands.hpp"
#include "domain/writer/decide.hpp"
#include "domain/writer/replication.hpp"
#include "store/files/write_capacity.hpp"

namespace latchkey::domain {
namespace {

constexpr std::size_t bytes_per_weight =
    base::limits::command_bytes_per_commit_max / base::limits::commands_per_commit_max;

std::size_t weight_max(transaction& txn) {
    return txn.is_dirty() ? txn.capacity().weight_max : base::limits::commands_per_commit_max;
}

// Removes what earlier groups left: posts of deleted users and expired records, within the weight
// that is left in the transaction.
void clean_up(transaction& txn, std::size_t purge_max, group_attempt& result) {
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

group_attempt try_group(environment_state& store, job_source source, job_batch& batch,
                        std::size_t purge_max) {
    transaction txn(store, intent::decide);
    txn.commit_urgent_rows();
    batch.collect(source);
    txn.read_time();  // some commands may have come after the transaction began
    auto const jobs = batch.jobs;
    auto const& skipped = batch.skipped;
    checked_caller caller;
    group_attempt result;
    result.failure = txn.failure();
    result.has_transaction = txn.ok();
    while (txn.ok() && result.applied < jobs.size() && txn.weight() < weight_max(txn)) {
        auto const index = result.applied++;
        auto const& each = jobs[index];
        if (std::ranges::find(skipped, index) != skipped.end()) {
            *each.outcome = failure_outcome(MDB_MAP_FULL);
            continue;
        }
        txn.begin_command();
        *each.outcome = decide(txn, *each.command, caller);
        txn.add_weight(1 + each.command->bytes() / bytes_per_weight);
        result.failure = txn.failure();
        result.lacked_capacity = result.failure == MDB_MAP_FULL;
        result.lacked_to_free = result.lacked_capacity && !txn.is_growing();
    }
    txn.begin_command();
    if (!txn.ok()) return result;
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
    if (!txn.ok() || store.pages_usable_since + 1 == txn.id()) return false;
    auto const number = txn.id();
    if (!txn.commit_pages().ok()) return false;
    store.pages_usable_since = number;
    return true;
}

struct store_tasks final : group_tasks {
    store_tasks(environment_state& store, job_source source) : store(store), source(source) {}
    group_attempt attempt(job_batch& batch, std::size_t purge_max) override {
        return try_group(store, source, batch, purge_max);
    }
    bool free_pages() override { return make_freed_pages_usable(store); }
    bool await_readers() override { return store::await_readers(store); }
    void give_up_turn() override { domain::give_up_turn(store); }

    environment_state& store;
    job_source source;  // of the caller, who waits meanwhile
};

}  // namespace

// A node whose row loses leaves it at that: others have recorded the time then.
void record_time(environment_state& store) {
    constexpr base::wall_ms interval_min = 1000;
    transaction txn(store);
    if (!txn.ok() || txn.now() - txn.counters().written_at < interval_min) return;
    if (!txn.capacity().write) return;
    txn.force_commit();
    txn.commit();
}

group_result apply_group(environment_state& store, std::span<job const> jobs,
                         std::size_t purge_max) {
    return apply_group(store, [&] { return jobs; }, purge_max);
}

group_result apply_group(environment_state& store, job_source source, std::size_t purge_max) {
    store_tasks tasks(store, source);
    group_attempts attempts(tasks, purge_max);
    while (attempts.step() != group_state::settled) {
    }
    return attempts.result();
}

}  // namespace latchkey::domain
