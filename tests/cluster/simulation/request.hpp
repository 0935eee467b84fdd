// What clients of a simulation ask for.
#pragma once

#include "cluster/quota.hpp"
#include "domain/writer/ticket.hpp"
#include "engine.hpp"

namespace latchkey::simulation {

// The key that has a limit, which nobody deactivates. It is large enough for shares of it.
inline constexpr unsigned limited_key = 13;
inline model::rate_limit const limit_of_run{"run", 100, 20, 100};

// A write, again and again until it is answered, of whichever node.
struct request : domain::ticket {
    int number = 0;
    identity row{};  // nonce of the row that holds its outcome
    real_ns answer_time = 0;
    real_ns effective_time = 0;  // of what was turned off: from then on nobody accepts it
};

// A request with a key that only reads. It may wait for tokens.
struct arrival {
    unsigned key = 0;  // key_number
    real_ns time = 0;
    cluster::quota_ticket ticket{};
};

}  // namespace latchkey::simulation
