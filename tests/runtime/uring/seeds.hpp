// Runs a test in many worlds, each in its own process, until enough faults were injected. A failing
// run ends its process, and the failure names its seed.
//
//     LATCHKEY_FAULTS=1000000   that many faults, with random seeds
//     LATCHKEY_SEED=7           only this seed
#pragma once

#include <cstdint>
#include <functional>

#include "world.hpp"

namespace latchkey::fake {

struct report {
    fault_counts injected{};
    std::uint64_t trace = 0;
};

// Runs one seed in a child process; a failure becomes a gtest failure that names the seed.
report run_seed(std::uint64_t seed, std::function<void(world&)> const& run);

// Runs seeds from 1 on, until `faults_min` faults were injected.
report run_seeds(std::uint64_t faults_min, std::function<void(world&)> const& run);

}  // namespace latchkey::fake
