#include "delivery/pending_list.hpp"

namespace latchkey::delivery {

pending_list::pending_list(std::vector<pending_delivery> deliveries)
    : deliveries_(std::move(deliveries)) {
    std::ranges::sort(deliveries_, {}, &pending_delivery::sequence);
}

pending_delivery* pending_list::find(model::id sequence) {
    auto const place =
        std::ranges::lower_bound(deliveries_, sequence, {}, &pending_delivery::sequence);
    return place != deliveries_.end() && place->sequence == sequence ? &*place : nullptr;
}

pending_delivery* pending_list::find_due(base::wall_ms now) {
    pending_delivery* earliest = nullptr;
    for (auto& each : deliveries_)
        if (!each.in_flight && each.due <= now && (earliest == nullptr || each.due < earliest->due))
            earliest = &each;
    return earliest;
}

base::wall_ms pending_list::next_due() const {
    auto time = no_time;
    for (auto const& each : deliveries_)
        if (!each.in_flight) time = std::min(time, each.due);
    return time;
}

void pending_list::make_due(base::wall_ms now) {
    for (auto& each : deliveries_) each.due = std::min(each.due, now);
}

void pending_list::add(pending_delivery const& delivery) {
    auto const place =
        std::ranges::lower_bound(deliveries_, delivery.sequence, {}, &pending_delivery::sequence);
    deliveries_.insert(place, delivery);
}

void pending_list::erase(pending_delivery const& delivery) {
    deliveries_.erase(deliveries_.begin() + (&delivery - deliveries_.data()));
}

}  // namespace latchkey::delivery
