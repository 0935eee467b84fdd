// A range of changes that are sent again, walked beside the new ones.
#pragma once

#include <algorithm>

#include "delivery/delivery_window.hpp"
#include "model/webhook.hpp"

namespace latchkey::delivery {

struct replay_walk {
    // Changes beyond `looked_at` are new to the webhook still, and are sent as such.
    replay_walk(model::webhook_replay const& replay, model::id looked_at)
        : record(replay),
          window(std::min(replay.next, looked_at + 1) - 1),
          end(std::min(replay.last, looked_at)) {}

    bool is_read() const { return window.last() >= end; }
    bool has_ended() const { return is_read() && window.position() >= end; }
    // The replay as the store should have it. Its next lies beyond its last once it has ended.
    model::webhook_replay progress() const {
        return {record.ordinal, has_ended() ? record.last + 1 : window.position() + 1, record.last};
    }

    model::webhook_replay record;  // as it was last committed
    delivery_window window;
    model::id end;
};

}  // namespace latchkey::delivery
