// The deliveries of one webhook that have failed and wait for another attempt, by their sequence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "delivery/attempt.hpp"

namespace latchkey::delivery {

inline constexpr base::wall_ms no_time = INT64_MAX;

// A pointer or reference to one holds until the next `add` or `erase`.
class pending_list {
  public:
    explicit pending_list(std::vector<pending_delivery> deliveries);

    std::size_t size() const { return deliveries_.size(); }
    bool empty() const { return deliveries_.empty(); }
    pending_delivery& front() { return deliveries_.front(); }
    // Null: there is none.
    pending_delivery* find(model::id sequence);
    // The one that is due for the longest time and is not in flight; null: none is due.
    pending_delivery* find_due(base::wall_ms now);
    // When the next one that is not in flight is due; no_time: there is none.
    base::wall_ms next_due() const;
    void make_due(base::wall_ms now);
    void add(pending_delivery const& delivery);
    void erase(pending_delivery const& delivery);

  private:
    std::vector<pending_delivery> deliveries_;  // ascending sequence
};

}  // namespace latchkey::delivery
