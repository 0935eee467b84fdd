// The values that pass between the scheduler of webhooks, the sender and the store. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/webhook.hpp"

namespace latchkey::delivery {

// One request that is to be sent now.
struct attempt {
    std::uint64_t number = 0;  // of this schedule, never 0
    model::id webhook = 0;
    model::id sequence = 0;
    bool is_ordered = false;        // its webhook has one request at a time
    std::uint64_t predecessor = 0;  // then: sent once that attempt was delivered; 0: now
};

// The result of an attempt.
struct attempt_result {
    std::uint64_t number = 0;
    std::uint16_t status = 0;  // 0: no response, `error` says why
    std::uint32_t duration_ms = 0;
    std::uint32_t retry_after_seconds = 0;  // that the receiver has asked for; 0: it has not
    std::string error;
    std::string response;
};

// The results of one webhook that are to be committed.
struct report {
    model::id webhook = 0;
    std::optional<model::webhook_progress> progress;
    std::vector<model::delivery> deliveries;     // with the attempts to be added
    std::vector<model::webhook_replay> replays;  // one whose next is beyond its last has ended
    model::webhook_end end = model::webhook_end::none;
};

// A delivery that waits for another attempt.
struct pending_delivery {
    model::id sequence = 0;
    model::change_type type = model::change_type::user_created;
    std::uint8_t attempts = 0;  // that have failed
    bool in_flight = false;
    base::wall_ms due = 0;
};

}  // namespace latchkey::delivery
