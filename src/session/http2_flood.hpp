// Bounds the frames of HTTP/2 that make work without a request (rapid reset, floods of PING,
// SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA): a token bucket. A client that only asks never
// needs it, one that reads large responses earns a token for each DATA frame. No clock: it is told
// the time.
#pragma once

#include <algorithm>

#include "base/clock.hpp"
#include "base/time_units.hpp"

namespace latchkey::session {

class http2_flood {
  public:
    void start(base::mono_ns now) { refilled_ = now; }
    // False: the client has made more work than it may.
    bool spend(base::mono_ns now) {
        auto const seconds =
            static_cast<double>(now - refilled_) / static_cast<double>(base::second);
        tokens_ = std::min(tokens_max, tokens_ + seconds * tokens_per_second);
        refilled_ = now;
        if (tokens_ < 1) return false;
        tokens_ -= 1;
        return true;
    }
    void earn(double tokens) { tokens_ = std::min(tokens_max, tokens_ + tokens); }

  private:
    static constexpr double tokens_max = 400;
    static constexpr double tokens_per_second = 40;

    double tokens_ = tokens_max;
    base::mono_ns refilled_ = 0;
};

}  // namespace latchkey::session
