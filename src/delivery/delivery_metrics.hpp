// Metrics of the dispatcher; written by its thread, read by the main thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace latchkey::delivery {

struct delivery_metrics {
    std::atomic<std::uint64_t> delivered{0}, failed{0};  // deliveries
    std::atomic<std::uint64_t> attempts_failed{0};
    std::atomic<std::uint64_t> in_flight{0}, pending{0};
    std::atomic<std::uint64_t> lag{0};  // the last change minus the least position
};

}  // namespace latchkey::delivery
