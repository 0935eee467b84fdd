// The table below is the whole course of a group; the functions of its rows follow it.
#include "domain/writer/group_attempts.hpp"

#include <algorithm>
#include <cerrno>

#include "base/system/log.hpp"
#include "domain/frame/rejection.hpp"
#include "domain/writer/replication.hpp"

namespace latchkey::domain {

outcome failure_outcome(commit_result const& failure) {
    if (failure == MDB_MAP_FULL) return reject(base::problem::storage_full);
    if (failure == EBUSY) return reject(base::problem::store_busy);
    if (is_of_cluster(failure.fate)) return reject(base::problem::behind);
    if (failure == record_damaged)
        return reject(base::problem::internal_error);  // logged where it was read
    base::log(base::severity::failure,
              failure_error("a command failed in the store", failure).message);
    return reject(base::problem::internal_error);
}

// A state; when it is the one after an attempt; what is done in it, and the next. In the first five
// a node's row did not simply win. Unformatted, so that a row is three lines.
// clang-format off
group_attempts::row const group_attempts::table[row_count] = {
    {row_lost,
     [](self& run) { return run.fate() == commit_fate::row_lost && run.rounds_ < rounds_max; },
     &self::begin_again, deciding},
    {row_lost_too_often,
     [](self& run) { return run.fate() == commit_fate::row_lost; },
     &self::refuse_as_away, settled},
    {row_unapplied,
     [](self& run) { return run.fate() == commit_fate::row_unapplied; },
     &self::accept_unapplied, settled},
    {row_unknown,
     [](self& run) { return run.fate() == commit_fate::row_unknown && run.last_.decided; },
     &self::leave_open, settled},
    {row_refused,
     [](self& run) { return is_of_cluster(run.fate()); },
     &self::refuse, settled},
    {freed_when_full,
     [](self& run) { return run.last_.failure.ok() && run.last_.freed_when_full; },
     &self::free_pages, committed},
    {committed,
     [](self& run) { return run.last_.failure.ok(); },
     &self::accept, settled},
    {not_begun,
     [](self& run) { return !run.last_.has_transaction; },
     &self::refuse, settled},
    {removal_failed,
     [](self& run) { return run.batch_.jobs.empty(); },
     &self::report_removal, settled},
    {lacks_space,
     [](self& run) { return run.last_.lacked_capacity && !run.waited_for_pages_; },
     &self::wait_for_pages, deciding, lacks_space_still},
    {lacks_space_still,
     [](self& run) { return run.last_.lacked_capacity; },
     &self::skip_last, deciding},
    {found_damage,
     [](self& run) { return run.last_.met_damage() && run.last_.applied > 1; },
     &self::keep_those_before, deciding},
    {failed_beside_removal,
     [](self& run) { return run.purge_max_ != 0; },
     &self::leave_out_removal, deciding},
    {failed_alone,
     [](self& run) { return run.last_.applied == 1; },
     &self::fail_first, settled},
    {failed_among_others,
     [](self&) { return true; },
     &self::halve, deciding},
};
// clang-format on

group_state group_attempts::step() {
    if (state_ == deciding) {
        last_ = tasks_.attempt(batch_, purge_max_);
        auto const holds = [&](row const& each) { return each.holds(*this); };
        state_ = std::ranges::find_if(table, holds)->state;
        // A turn is kept only where the group is decided again at once.
        if (state_ != row_lost) tasks_.give_up_turn();
    } else if (state_ != settled) {
        auto const& present = *std::ranges::find(table, state_, &row::state);
        state_ = (this->*present.act)() ? present.next : present.otherwise;
    }
    return state_;
}

// Another row has the position: whatever was decided may be decided otherwise now.
bool group_attempts::begin_again() {
    ++rounds_;
    batch_.begin_again();
    return true;
}

// Nothing was appended or written. A transaction that could not even begin has no outcome of any
// job.
bool group_attempts::refuse() {
    auto const count = last_.has_transaction ? last_.applied : batch_.jobs.size();
    for (auto const& each : batch_.jobs.first(count))
        *each.outcome = failure_outcome(last_.failure);
    result_ = {.job_count = count, .failure = last_.failure};
    return true;
}

bool group_attempts::refuse_as_away() {
    last_.failure = commit_fate::log_away;
    return refuse();
}

bool group_attempts::leave_open() {
    result_ = {.job_count = last_.applied, .unresolved = true, .failure = last_.failure};
    return true;
}

bool group_attempts::accept() {
    result_ = {.job_count = last_.applied,
               .committed = last_.committed,
               .more_to_purge = last_.more_to_purge,
               .more_expired = last_.more_expired};
    return true;
}

bool group_attempts::accept_unapplied() {
    result_ = {.job_count = last_.applied, .committed = true};
    return true;
}

bool group_attempts::report_removal() {
    base::log(
        base::severity::failure,
        failure_error("expired records cannot be removed from the store", last_.failure).message);
    result_ = {.more_to_purge = true, .failure = last_.failure};
    return true;
}

bool group_attempts::free_pages() {
    tasks_.free_pages();
    return true;
}

// What deletions have freed is of no use to them while a worker still reads the state before: for a
// turn, and longer only where its thread gets no processor.
bool group_attempts::wait_for_pages() {
    waited_for_pages_ = true;
    bool const has_freed = tasks_.free_pages();
    return (last_.lacked_to_free && tasks_.await_readers()) || has_freed;
}

// The others may fit. If many do not, the rest waits for the next group.
bool group_attempts::skip_last() {
    batch_.skipped.push_back(last_.applied - 1);
    if (batch_.skipped.size() >= skipped_max) batch_.jobs = batch_.jobs.first(last_.applied);
    return true;
}

// The jobs before the one that met a damaged record are not affected.
bool group_attempts::keep_those_before() {
    batch_.jobs = batch_.jobs.first(last_.applied - 1);
    return true;
}

// The removal may be the cause: commands must not fail for it.
bool group_attempts::leave_out_removal() {
    purge_max_ = 0;
    return true;
}

bool group_attempts::fail_first() {
    *batch_.jobs.front().outcome = failure_outcome(last_.failure);
    result_ = {.job_count = 1};
    return true;
}

// All outcomes of this attempt are void. Bisect: fewer jobs may succeed, and a single one gets its
// own failure.
bool group_attempts::halve() {
    batch_.jobs = batch_.jobs.first(last_.applied / 2);
    return true;
}

}  // namespace latchkey::domain
