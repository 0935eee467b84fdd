// Group commit: many commands in one transaction, with one sync. Private to the store.
#pragma once

#include <span>

#include "base/function_ref.hpp"
#include "store/command.hpp"
#include "store/engine/environment_state.hpp"

namespace latchkey::store {

struct job {
    store::command const* command;
    store::outcome* outcome;
};
struct group_result {
    std::size_t job_count = 0;   // jobs from the front that have their outcome
    bool committed = false;      // false: nothing had to be written
    bool more_to_purge = false;  // posts of deleted users, and there is capacity to remove them
    bool more_expired = false;   // events, usage, outcomes
    bool unresolved = false;     // it is not known whether those jobs were committed
    int failure = 0;             // of the store as a whole: no transaction could begin, or end
};

// The jobs that wait, the oldest first. It is called in the transaction of the group, so that jobs
// that came while it waited for its turn are among them, and again when a row of another node has
// won: those that it gave before stay in front.
using job_source = base::function_ref<std::span<job const>()>;

// Applies as many jobs from the front as one transaction may hold (at least one), commits, and sets
// their outcomes. In the same transaction it removes up to `purge_max` posts of deleted users, as
// many expired events and entries of usage, and as many expired outcomes (twice the number of jobs
// if that is more, so that removal keeps up). Without jobs it only removes.
group_result apply_group(environment_state& store, job_source source, std::size_t purge_max);
group_result apply_group(environment_state& store, std::span<job const> jobs,
                         std::size_t purge_max);

// Commits the present time as that of the last write, if there is capacity.
void record_time(environment_state& store);

}  // namespace latchkey::store
