// Runs a test in one world after the other, each in a process of its own, until enough faults have
// struck. A run that fails ends its process and says which seed it was.
//
//     LATCHKEY_FAULTS=1000000   so many faults, from seeds that nobody has chosen
//     LATCHKEY_SEED=7           this one world
#pragma once

#include <cstdint>
#include <functional>

#include "world.hpp"

namespace latchkey::fake {

struct report {
    fault_counts struck{};
    std::uint64_t trace = 0;
};

// In a process of its own; a gtest failure that names the seed when it does not end well.
report run_seed(std::uint64_t seed, std::function<void(world&)> const& run);

// Seeds from 1 on, until `faults_min` have struck.
report hunt(std::uint64_t faults_min, std::function<void(world&)> const& run);

}  // namespace latchkey::fake
