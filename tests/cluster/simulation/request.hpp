// What clients of a simulation ask for.
#pragma once

#include "engine.hpp"
#include "store/write/ticket.hpp"

namespace latchkey::simulation {

// A write, again and again until it is answered, of whichever node.
struct request : store::ticket {
    int number = 0;
    identity row{};  // nonce of the row that holds its outcome
    real_ns answer_time = 0;
    real_ns effective_time = 0;  // of what was turned off: from then on nobody accepts it
};

// A request with a key that only reads.
struct arrival {
    unsigned key = 0;  // key_number
    real_ns time = 0;
};

}  // namespace latchkey::simulation
