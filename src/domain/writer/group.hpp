// Group commit: many commands in one transaction, with one sync. Private to the domain.
#pragma once

#include "domain/store_terms.hpp"
#include "domain/writer/group_attempts.hpp"
#include "store/environment_state.hpp"

namespace latchkey::domain {

// Applies as many jobs from the front as one transaction may hold (at least one), commits, and sets
// their outcomes. In the same transaction it removes up to `purge_max` posts of deleted users, as
// many expired events and entries of usage, and as many expired outcomes (twice the number of jobs
// if that is more, so that removal keeps up). Without jobs it only removes.
group_result apply_group(environment_state& store, job_source source, std::size_t purge_max);
group_result apply_group(environment_state& store, std::span<job const> jobs,
                         std::size_t purge_max);

// Commits the present time as that of the last write, if there is capacity.
void record_time(environment_state& store);

}  // namespace latchkey::domain
