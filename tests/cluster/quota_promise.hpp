// What a limit promises, held against what was admitted: at most burst + t / T tokens are spent in
// any interval of t, by all nodes together.
#pragma once

#include <cstdint>
#include <vector>

#include "model/key.hpp"

namespace latchkey::cluster {

using real_ns = std::int64_t;  // the time of a simulation

// How many tokens the admissions, in their order, are beyond the promise at most; 0 or less: it
// holds. Those from `start` to `end` count.
double excess(std::vector<real_ns> const& admissions, model::rate_limit const& limit, real_ns start,
              real_ns end);

}  // namespace latchkey::cluster
