// Walks through every state of a group's table with attempts that a script gives; what they do to a
// store is tested in full_test.cpp, replication_test.cpp and with the commands.
#include "domain/writer/group_attempts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "domain/writer/replication.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::domain {
namespace {

using base::problem;
using enum group_state;

// Attempts end as the test has said, and the last of them again and again.
struct script final : group_tasks {
    explicit script(std::size_t count) : commands(count), outcomes(count) {
        for (std::size_t i = 0; i < count; ++i) jobs.push_back({&commands[i], &outcomes[i]});
    }
    group_attempt attempt(job_batch& batch, std::size_t purge_max) override {
        batch.collect([&] {
            ++collections;
            return std::span<job const>(jobs);
        });
        sizes.push_back(batch.jobs.size());
        skipped = batch.skipped;
        purge = purge_max;
        auto const end = ends.front();
        if (ends.size() > 1) ends.pop_front();
        return end;
    }
    bool free_pages() override {
        ++freed;
        return frees_pages;
    }
    bool await_readers() override {
        ++awaited;
        return readers_leave;
    }
    void give_up_turn() override { ++turns_given_up; }

    std::vector<problem> problems() const {
        std::vector<problem> all;
        for (auto const& each : outcomes) all.push_back(each.problem);
        return all;
    }

    std::vector<command> commands;
    std::vector<outcome> outcomes;
    std::vector<job> jobs;
    std::deque<group_attempt> ends;
    bool frees_pages = true, readers_leave = false;
    std::vector<std::size_t> sizes;  // of the batch, in each attempt
    std::vector<std::size_t> skipped;
    std::size_t purge = 0;
    int collections = 0, freed = 0, awaited = 0, turns_given_up = 0;
};

// The states through which a group goes, without the last.
std::vector<group_state> walk(script& tasks, group_result& result, std::size_t purge_max = 0) {
    group_attempts attempts(tasks, purge_max);
    std::vector<group_state> states;
    for (auto state = attempts.step(); state != settled; state = attempts.step())
        states.push_back(state);
    result = attempts.result();
    EXPECT_EQ(attempts.step(), settled);
    return states;
}

using states = std::vector<group_state>;

group_attempt success(std::size_t applied) {
    return {.decided = true, .applied = applied, .committed = true};
}
group_attempt failed_deciding(std::size_t applied, commit_result failure) {
    return {.applied = applied, .lacked_capacity = failure == MDB_MAP_FULL, .failure = failure};
}
group_attempt failed_committing(std::size_t applied, commit_result failure) {
    return {.decided = true, .applied = applied, .failure = failure};
}

TEST(group_attempts, have_one_row_for_each_state) {
    for (std::size_t i = 0; i < group_attempts::row_count; ++i)
        EXPECT_EQ(static_cast<std::size_t>(group_attempts::table[i].state), i + 1);
}

TEST(group_attempts, accept_what_was_committed) {
    script tasks(3);
    auto end = success(2);
    end.more_to_purge = end.more_expired = true;
    tasks.ends = {end};
    group_result result;
    EXPECT_EQ(walk(tasks, result), states{committed});
    EXPECT_EQ(result.job_count, 2u);
    EXPECT_TRUE(result.committed && result.more_to_purge && result.more_expired);
    EXPECT_TRUE(result.failure.ok());
    EXPECT_EQ(tasks.turns_given_up, 1);
    EXPECT_EQ(tasks.freed, 0);
}

TEST(group_attempts, make_pages_usable_that_a_full_store_has_freed) {
    script tasks(1);
    auto end = success(1);
    end.freed_when_full = true;
    tasks.ends = {end};
    for (bool const frees : {true, false}) {
        tasks.frees_pages = frees;
        group_result result;
        EXPECT_EQ(walk(tasks, result), (states{freed_when_full, committed}));
        EXPECT_EQ(result.job_count, 1u);
    }
    EXPECT_EQ(tasks.freed, 2);
}

TEST(group_attempts, begin_again_in_the_same_turn_when_a_row_has_lost) {
    script tasks(3);
    tasks.frees_pages = false;
    tasks.ends = {failed_deciding(1, MDB_MAP_FULL), failed_committing(3, commit_fate::row_lost),
                  success(3)};
    group_result result;
    EXPECT_EQ(walk(tasks, result),
              (states{lacks_space, lacks_space_still, deciding, row_lost, deciding, committed}));
    EXPECT_EQ(result.job_count, 3u);
    EXPECT_EQ(tasks.collections, 2) << "more may wait by now";
    EXPECT_TRUE(tasks.skipped.empty()) << "found at another state of the store";
    EXPECT_EQ(tasks.turns_given_up, 2);
}

TEST(group_attempts, give_up_a_group_that_always_loses) {
    script tasks(2);
    tasks.ends = {failed_committing(1, commit_fate::row_lost)};
    group_result result;
    auto const path = walk(tasks, result);
    EXPECT_EQ(std::ranges::count(path, row_lost), rounds_max);
    EXPECT_EQ(path.back(), row_lost_too_often);
    EXPECT_EQ(result.job_count, 1u);
    EXPECT_EQ(result.failure, commit_fate::log_away);
    EXPECT_EQ(tasks.problems(), (std::vector{problem::behind, problem::none}));
    EXPECT_EQ(tasks.turns_given_up, 1);
}

TEST(group_attempts, accept_a_row_that_is_in_the_log_but_not_here) {
    script tasks(1);
    tasks.ends = {failed_committing(1, commit_fate::row_unapplied)};
    group_result result;
    EXPECT_EQ(walk(tasks, result), states{row_unapplied});
    EXPECT_EQ(result.job_count, 1u);
    EXPECT_TRUE(result.committed && result.failure.ok());
    EXPECT_EQ(tasks.problems(), std::vector{problem::none});
}

TEST(group_attempts, leave_a_row_open_of_which_nothing_is_known) {
    script tasks(2);
    tasks.ends = {failed_committing(2, commit_fate::row_unknown)};
    group_result result;
    EXPECT_EQ(walk(tasks, result), states{row_unknown});
    EXPECT_EQ(result.job_count, 2u);
    EXPECT_TRUE(result.unresolved && !result.committed);
    EXPECT_EQ(result.failure, commit_fate::row_unknown);
    EXPECT_EQ(tasks.problems(), (std::vector{problem::none, problem::none}));
}

TEST(group_attempts, refuse_what_a_node_cannot_append) {
    using enum commit_fate;
    for (auto const fate : {log_away, rows_blocked, row_newer, log_missing}) {
        script tasks(2);
        tasks.ends = {failed_committing(1, fate)};
        group_result result;
        EXPECT_EQ(walk(tasks, result), states{row_refused});
        EXPECT_EQ(result.job_count, 1u);
        EXPECT_EQ(result.failure, fate);
        EXPECT_EQ(tasks.problems(), (std::vector{problem::behind, problem::none}));
    }
    // An earlier row is open, so this group has no transaction.
    script tasks(2);
    tasks.ends = {{.has_transaction = false, .failure = commit_fate::row_unknown}};
    group_result result;
    EXPECT_EQ(walk(tasks, result), states{row_refused});
    EXPECT_EQ(result.job_count, 2u);
    EXPECT_FALSE(result.unresolved);
    EXPECT_EQ(tasks.problems(), (std::vector{problem::behind, problem::behind}));
}

TEST(group_attempts, refuse_all_jobs_where_no_transaction_begins) {
    script tasks(2);
    tasks.ends = {{.has_transaction = false, .failure = EBUSY}};
    group_result result;
    EXPECT_EQ(walk(tasks, result, 8), states{not_begun});
    EXPECT_EQ(result.job_count, 2u);
    EXPECT_EQ(result.failure, EBUSY);
    EXPECT_EQ(tasks.problems(), (std::vector{problem::store_busy, problem::store_busy}));
}

TEST(group_attempts, try_a_removal_that_failed_again_later) {
    script tasks(0);
    tasks.ends = {failed_committing(0, EIO)};
    group_result result;
    EXPECT_EQ(walk(tasks, result, 8), states{removal_failed});
    EXPECT_TRUE(result.more_to_purge);
    EXPECT_EQ(result.failure, EIO);
}

TEST(group_attempts, wait_once_for_pages_that_were_freed) {
    script tasks(3);
    tasks.ends = {failed_deciding(2, MDB_MAP_FULL), failed_deciding(2, MDB_MAP_FULL), success(3)};
    group_result result;
    EXPECT_EQ(walk(tasks, result),
              (states{lacks_space, deciding, lacks_space_still, deciding, committed}));
    EXPECT_EQ(tasks.freed, 1);
    EXPECT_EQ(tasks.skipped, std::vector<std::size_t>{1});
    EXPECT_EQ(result.job_count, 3u);
}

TEST(group_attempts, await_readers_where_a_deletion_lacks_space_and_no_pages_were_freed) {
    auto lacking = failed_deciding(1, MDB_MAP_FULL);
    lacking.lacked_to_free = true;
    for (bool const readers_leave : {false, true}) {
        script tasks(1);
        tasks.frees_pages = false;
        tasks.readers_leave = readers_leave;
        tasks.ends = {lacking, success(1)};
        group_result result;
        EXPECT_EQ(walk(tasks, result),
                  readers_leave ? (states{lacks_space, deciding, committed})
                                : (states{lacks_space, lacks_space_still, deciding, committed}));
        EXPECT_EQ(tasks.awaited, 1);
    }
    script tasks(1);
    tasks.ends = {failed_deciding(1, MDB_MAP_FULL), success(1)};
    group_result result;
    walk(tasks, result);
    EXPECT_EQ(tasks.awaited, 0) << "what grows is refused at once";
}

TEST(group_attempts, skip_some_commands_that_lack_space_and_leave_the_rest) {
    script tasks(20);
    tasks.frees_pages = false;
    tasks.ends.clear();
    for (std::size_t i = 1; i <= skipped_max; ++i)
        tasks.ends.push_back(failed_deciding(i, MDB_MAP_FULL));
    tasks.ends.push_back(success(skipped_max));
    group_result result;
    auto const path = walk(tasks, result);
    EXPECT_EQ(std::ranges::count(path, lacks_space_still), skipped_max);
    EXPECT_EQ(tasks.sizes.front(), 20u);
    EXPECT_EQ(tasks.sizes[skipped_max - 1], 20u);
    EXPECT_EQ(tasks.sizes.back(), skipped_max);
    EXPECT_EQ(tasks.skipped.size(), skipped_max);
}

TEST(group_attempts, keep_the_jobs_before_one_that_met_a_damaged_record) {
    script tasks(4);
    tasks.ends = {failed_deciding(3, record_damaged), success(2)};
    group_result result;
    EXPECT_EQ(walk(tasks, result, 8), (states{found_damage, deciding, committed}));
    EXPECT_EQ(tasks.sizes, (std::vector<std::size_t>{4, 2}));
    EXPECT_EQ(tasks.purge, 8u);
}

TEST(group_attempts, leave_out_the_removal_that_may_have_failed) {
    script tasks(2);
    tasks.ends = {failed_committing(2, record_damaged), success(2)};
    group_result result;
    EXPECT_EQ(walk(tasks, result, 8), (states{failed_beside_removal, deciding, committed}));
    EXPECT_EQ(tasks.sizes, (std::vector<std::size_t>{2, 2}));
    EXPECT_EQ(tasks.purge, 0u);
}

TEST(group_attempts, give_a_single_job_its_own_failure) {
    for (auto const& [code, answer] : {std::pair(record_damaged, problem::internal_error),
                                       std::pair(EIO, problem::internal_error),
                                       std::pair(MDB_MAP_FULL, problem::storage_full)}) {
        script tasks(2);
        tasks.ends = {failed_committing(1, code)};
        group_result result;
        EXPECT_EQ(walk(tasks, result), states{failed_alone});
        EXPECT_EQ(result.job_count, 1u);
        EXPECT_TRUE(result.failure.ok()) << "the next group may succeed";
        EXPECT_FALSE(result.committed);
        EXPECT_EQ(tasks.problems(), (std::vector{answer, problem::none}));
    }
}

TEST(group_attempts, halve_a_group_that_fails_as_a_whole) {
    script tasks(5);
    tasks.ends = {failed_committing(5, MDB_TXN_FULL), failed_committing(2, MDB_TXN_FULL),
                  success(1)};
    group_result result;
    EXPECT_EQ(walk(tasks, result),
              (states{failed_among_others, deciding, failed_among_others, deciding, committed}));
    EXPECT_EQ(tasks.sizes, (std::vector<std::size_t>{5, 2, 1}));
    EXPECT_EQ(result.job_count, 1u);
}

}  // namespace
}  // namespace latchkey::domain
