// What the tests of buckets and of leases measure them by: an independent model, which is not a
// bucket but the list of everything that was admitted and the definition of the promise itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "limit/buckets.hpp"

namespace latchkey::limit {

__extension__ typedef __int128 wide;

struct admission {
    base::mono_ns at;
    std::uint32_t cost;
};

// The admissions of one limit, in the order in which they were made.
class model_bucket {
  public:
    explicit model_bucket(rule const& by) : by_(by) {}

    // Nanoseconds of refill that are unspent at `now`: what the tightest interval that begins with
    // an admission and ends now leaves over.
    wide unspent(base::mono_ns now) const {
        wide const full = wide{by_.burst} * by_.interval_ns;
        wide least = full, spent = 0;
        for (auto each = made_.rbegin(); each != made_.rend(); ++each) {
            spent += wide{each->cost} * by_.interval_ns;
            least = std::min(least, full + (now - each->at) - spent);
        }
        return least;
    }
    bool has(base::mono_ns now, std::uint32_t cost) const {
        return unspent(now) >= wide{cost} * by_.interval_ns;
    }
    std::uint32_t remaining(base::mono_ns now) const {
        return static_cast<std::uint32_t>(std::max<wide>(0, unspent(now)) / by_.interval_ns);
    }
    std::uint32_t full_in(base::mono_ns now) const {
        wide const debt = wide{by_.burst} * by_.interval_ns - unspent(now);
        return static_cast<std::uint32_t>((debt + 999'999'999) / 1'000'000'000);
    }
    void admit(base::mono_ns at, std::uint32_t cost) { made_.push_back({at, cost}); }

    // The promise by the words of the contract, in any interval of the clock, at the exact rate.
    bool kept() const {
        auto sorted = made_;
        std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.at < b.at; });
        wide const window = wide{by_.window_seconds} * 1'000'000'000;
        for (std::size_t from = 0; from < sorted.size(); ++from) {
            wide sum = 0;
            for (std::size_t to = from; to < sorted.size(); ++to) {
                sum += sorted[to].cost;
                wide const time = sorted[to].at - sorted[from].at;
                if (sum * window > by_.burst * window + time * by_.limit) return false;
            }
        }
        return true;
    }

  private:
    rule const& by_;
    std::vector<admission> made_;
};

}  // namespace latchkey::limit
