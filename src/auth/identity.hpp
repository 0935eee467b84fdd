// A key's record with its rate limits prepared: what a worker needs to answer a request of that
// key, without a division.
#pragma once

#include "limit/buckets.hpp"
#include "model/key.hpp"

namespace latchkey::auth {

// Immutable; reference-counted without atomics, since it never leaves its worker.
struct identity {
    limit::policy limits;
    model::key record;
};

}  // namespace latchkey::auth
