// An independent model for the tests of buckets and leases: not a bucket, but the list of all
// admissions and the definition of the promise itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "limit/buckets.hpp"

namespace latchkey::limit {

__extension__ typedef __int128 wide;

struct admission {
    base::mono_ns time;
    std::uint32_t cost;
};

// The admissions of one limit, in their order.
class model_bucket {
  public:
    explicit model_bucket(rule const& rule) : rule_(rule) {}

    // Nanoseconds of refill unspent at `now`: the remainder of the tightest interval that begins
    // with an admission and ends now.
    wide unspent(base::mono_ns now) const {
        wide const full = wide{rule_.burst} * rule_.interval_ns;
        wide minimum = full, charged = 0;
        for (auto each = admissions_.rbegin(); each != admissions_.rend(); ++each) {
            charged += wide{each->cost} * rule_.interval_ns;
            minimum = std::min(minimum, full + (now - each->time) - charged);
        }
        return minimum;
    }
    bool has(base::mono_ns now, std::uint32_t cost) const {
        return unspent(now) >= wide{cost} * rule_.interval_ns;
    }
    std::uint32_t remaining(base::mono_ns now) const {
        return static_cast<std::uint32_t>(std::max<wide>(0, unspent(now)) / rule_.interval_ns);
    }
    std::uint32_t full_in(base::mono_ns now) const {
        wide const debt = wide{rule_.burst} * rule_.interval_ns - unspent(now);
        return static_cast<std::uint32_t>((debt + 999'999'999) / 1'000'000'000);
    }
    void admit(base::mono_ns time, std::uint32_t cost) { admissions_.push_back({time, cost}); }

    // The promise as the contract defines it: in any interval of the clock, at the exact rate.
    bool keeps_promise() const {
        auto sorted = admissions_;
        std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.time < b.time; });
        wide const window = wide{rule_.window_seconds} * 1'000'000'000;
        for (std::size_t first = 0; first < sorted.size(); ++first) {
            wide sum = 0;
            for (std::size_t last = first; last < sorted.size(); ++last) {
                sum += sorted[last].cost;
                wide const elapsed = sorted[last].time - sorted[first].time;
                if (sum * window > rule_.burst * window + elapsed * rule_.limit) return false;
            }
        }
        return true;
    }

  private:
    rule const& rule_;
    std::vector<admission> admissions_;
};

}  // namespace latchkey::limit
