// The decisions of a run, all by one seed. Once healed, nothing fails and everything proceeds.
#pragma once

#include <cstdint>
#include <random>

namespace latchkey::simulation {

class dice {
  public:
    explicit dice(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    // Chances in a thousand.
    bool fails(unsigned rate) { return !is_healed_ && below(1000) < rate; }
    bool proceeds(unsigned rate) { return is_healed_ || below(1000) < rate; }
    void heal() { is_healed_ = true; }
    bool is_healed() const { return is_healed_; }

  private:
    std::mt19937_64 random_;
    bool is_healed_ = false;
};

}  // namespace latchkey::simulation
