// When a delivery that has failed is tried again (api.md §17).
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace latchkey::delivery {

// Pseudo-random numbers for jitter (SplitMix64, Steele et al. 2014); the seed comes from outside.
class jitter {
  public:
    explicit jitter(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next();

  private:
    std::uint64_t state_;
};

// The pause after the given number of failed attempts, with up to 10 % more; nullopt: that was the
// last one. A longer pause that the receiver has asked for counts, up to a day.
std::optional<base::wall_ms> retry_pause(unsigned attempts, std::uint32_t retry_after_seconds,
                                         jitter& jitter);

inline constexpr base::wall_ms failing_ms_max = 5 * 24 * 3600 * 1000;

}  // namespace latchkey::delivery
