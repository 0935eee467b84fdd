#include "quota_promise.hpp"

#include <algorithm>

#include "base/time_units.hpp"

namespace latchkey::cluster {
namespace {

__extension__ typedef __int128 wide;

}  // namespace

double excess(std::vector<real_ns> const& admissions, model::rate_limit const& limit, real_ns start,
              real_ns end) {
    wide const window = wide{limit.window_seconds} * base::second;
    wide const burst = limit.burst != 0 ? limit.burst : limit.limit;
    wide lowest = 0, most = -burst * window, index = 0;
    bool is_first = true;
    for (auto const time : admissions) {
        if (time < start || time >= end) continue;
        wide const base = index * window - wide{time} * limit.limit;
        lowest = is_first ? base : std::min(lowest, base);
        is_first = false;
        most = std::max(most, base + window - lowest - burst * window);
        ++index;
    }
    return static_cast<double>(most) / static_cast<double>(window);
}

}  // namespace latchkey::cluster
