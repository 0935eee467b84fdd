// How long the receiver of a webhook has failed, and what follows from that: pauses between the
// attempts to reach it, and the end of the webhook (api.md §17).
#pragma once

#include <algorithm>

#include "delivery/retry.hpp"
#include "model/webhook.hpp"
#include "model/webhook_status.hpp"

namespace latchkey::delivery {

class receiver_health {
  public:
    explicit receiver_health(base::wall_ms failing_since) : failing_since_(failing_since) {}

    base::wall_ms failing_since() const { return failing_since_; }  // 0: it does not fail
    bool has_end() const { return end_ != model::webhook_end::none; }
    model::webhook_end end() const { return end_; }
    // When a new change may be tried although too many wait for another attempt.
    base::wall_ms probe_time() const { return probe_time_; }

    void note_success() { failing_since_ = probe_time_ = probe_pause_ = 0; }
    void note_failure(std::uint16_t status, base::wall_ms now) {
        if (failing_since_ == 0) failing_since_ = now;
        if (has_end()) return;
        if (status == 410)
            end_ = model::webhook_end::gone;
        else if (now - failing_since_ >= failing_ms_max)
            end_ = model::webhook_end::failing;
    }
    void postpone_probe(base::wall_ms now) {
        probe_pause_ = std::clamp(2 * probe_pause_, probe_pause_min, probe_pause_max);
        probe_time_ = now + probe_pause_;
    }

  private:
    static constexpr base::wall_ms probe_pause_min = 5'000, probe_pause_max = 300'000;

    base::wall_ms failing_since_;
    base::wall_ms probe_time_ = 0, probe_pause_ = 0;
    model::webhook_end end_ = model::webhook_end::none;
};

}  // namespace latchkey::delivery
