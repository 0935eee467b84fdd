// Actions of no kind of record. Values, any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.hpp"
#include "base/problem.hpp"
#include "domain/frame/action.hpp"

namespace latchkey::domain {

// A request that was refused before it could become a command; its faults come with it. It reaches
// the store only so that the outcome is kept under its Idempotency-Key.
struct refuse {
    base::problem problem = base::problem::none;
    std::string detail;
};

// Waits until the store has reached a position in the log of its cluster, and writes nothing; else
// `behind`. Only the writer waits: `apply` tells at once.
struct await_position {
    std::uint64_t position = 0;
    base::mono_ns deadline = 0;  // on the store's monotonic clock
};
// Raises the schema of the rows of a cluster to that of this program: older ones cannot apply them.
struct raise_schema {};

outcome run(transaction& txn, refuse const& action, command const& command);
outcome run(transaction& txn, await_position const& action, command const& command);
outcome run(transaction& txn, raise_schema const& action, command const& command);

std::size_t bytes_of(refuse const& action);
using general_actions = types<refuse, await_position, raise_schema>;

}  // namespace latchkey::domain
