// `webhook-id` of a change: "msg_", its sequence, "_", and the time of the change in base 62 (eight
// digits, which last until the year 8888). The same in every attempt; a store that was restored and
// uses a sequence again makes another (docs/decisions/changes.md).
#pragma once

#include <string>

#include "base/clock.hpp"
#include "model/id.hpp"

namespace latchkey::model {

std::string message_id(model::id sequence, base::wall_ms occurred_at);

}  // namespace latchkey::model
