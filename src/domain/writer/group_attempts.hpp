// A group of commands, attempted until one attempt settles what becomes of it: a machine of states
// without the store, which `group_tasks` brings. Its table (group_attempts.cpp) lists every state,
// what is done in it and which one follows. Private to the domain.
//
//     group_attempts attempts(tasks, purge_max);
//     while (attempts.step() != group_state::settled) {}
//     return attempts.result();
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/function_ref.hpp"
#include "domain/command.hpp"
#include "store/commit_fate.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::domain {

struct job {
    domain::command const* command;
    domain::outcome* outcome;
};
struct group_result {
    std::size_t job_count = 0;   // jobs from the front that have their outcome
    bool committed = false;      // false: nothing had to be written
    bool more_to_purge = false;  // posts of deleted users, and there is capacity to remove them
    bool more_expired = false;   // events, usage, outcomes
    bool unresolved = false;     // it is not known whether those jobs were committed
    commit_result failure;       // of the store as a whole: no transaction could begin, or end
};

// The jobs that wait, the oldest first. It is called in the transaction of the group, so that jobs
// that came while it waited for its turn are among them, and again when a row of another node has
// won: those that it gave before stay in front.
using job_source = base::function_ref<std::span<job const>()>;

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

// How one attempt has ended.
struct group_attempt {
    bool has_transaction = true;
    bool decided = false;  // all jobs that fit have outcomes; a failure came afterwards
    std::size_t applied = 0;
    bool lacked_capacity = false;  // failure of the last job applied
    bool lacked_to_free = false;   // and that one only frees
    bool committed = false;
    bool more_to_purge = false;
    bool more_expired = false;
    bool freed_when_full = false;
    commit_result failure;

    bool met_damage() const { return failure == record_damaged && !decided; }
};

// What a group needs of the store.
class group_tasks {
  public:
    // Decides the jobs of the batch in one transaction, removes up to `purge_max` of what earlier
    // groups left, and commits.
    virtual group_attempt attempt(job_batch& batch, std::size_t purge_max) = 0;
    virtual bool free_pages() = 0;     // false: none were freed since the last time
    virtual bool await_readers() = 0;  // false: one keeps pages that were freed
    virtual void give_up_turn() = 0;   // of a node: others need not wait for it any more

  protected:
    ~group_tasks() = default;
};

// `deciding` is the attempt; each other one but `settled` is how an attempt can have ended.
enum class group_state : std::uint8_t {
    deciding,
    row_lost,
    row_lost_too_often,
    row_unapplied,
    row_unknown,
    row_refused,
    freed_when_full,
    committed,
    not_begun,
    removal_failed,
    lacks_space,
    lacks_space_still,
    found_damage,
    failed_beside_removal,
    failed_alone,
    failed_among_others,
    settled
};

// How many commands of a group are skipped, one per attempt, before the rest waits for the next
// group.
inline constexpr std::size_t skipped_max = 8;

class group_attempts {
  public:
    group_attempts(group_tasks& tasks, std::size_t purge_max)
        : tasks_(tasks), purge_max_(purge_max) {}

    // Does what the present state asks for; returns the state that follows.
    group_state step();
    // Of the state `settled`.
    group_result const& result() const { return result_; }

    // One for each state but `deciding` and `settled`. The first that holds is the state after an
    // attempt; then it acts, and `next` follows, or `otherwise` where `act` returns false.
    struct row {
        group_state state;
        bool (*holds)(group_attempts const&);
        bool (group_attempts::*act)();
        group_state next;
        group_state otherwise = group_state::settled;
    };
    static constexpr std::size_t row_count = static_cast<std::size_t>(group_state::settled) - 1;
    static row const table[row_count];

  private:
    using enum group_state;
    using self = group_attempts const;

    commit_fate fate() const { return last_.failure.fate; }
    bool begin_again();
    bool refuse();
    bool refuse_as_away();
    bool leave_open();
    bool accept();
    bool accept_unapplied();
    bool report_removal();
    bool free_pages();
    bool wait_for_pages();
    bool skip_last();
    bool keep_those_before();
    bool leave_out_removal();
    bool fail_first();
    bool halve();

    group_tasks& tasks_;
    std::size_t purge_max_;
    job_batch batch_;
    group_attempt last_;
    group_state state_ = group_state::deciding;
    bool waited_for_pages_ = false;
    int rounds_ = 0;  // that were lost
    group_result result_;
};

// The outcome of a command that failed for this reason.
outcome failure_outcome(commit_result const& failure);

}  // namespace latchkey::domain
