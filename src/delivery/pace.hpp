// At most so many attempts per second to one webhook: a token bucket as its virtual scheduling
// algorithm (GCRA, ITU-T I.371), which holds the tokens of 50 ms, at least one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "base/time_units.hpp"

namespace latchkey::delivery {

class pace {
  public:
    void limit(std::uint32_t per_second) {  // 0: no limit
        interval_ = per_second == 0 ? 0 : (base::second + per_second - 1) / per_second;
    }
    // When the next attempt may be made; in the past: now.
    base::mono_ns next() const {
        return interval_ == 0 ? 0 : arrival_ - std::max<base::mono_ns>(0, burst - interval_);
    }
    void spend(base::mono_ns now) { arrival_ = std::max(arrival_, now) + interval_; }

  private:
    static constexpr base::mono_ns burst = 50 * base::millisecond;
    base::mono_ns interval_ = 0;
    base::mono_ns arrival_ = 0;  // theoretical arrival time
};

}  // namespace latchkey::delivery
