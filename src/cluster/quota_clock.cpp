#include "cluster/quota_clock.hpp"

#include <algorithm>

#include "cluster/quota_times.hpp"

namespace latchkey::cluster {

bool quota_clock::is_valid(boot_ns now) const {
    return confirmed_ != 0 && now - confirmed_ <= quota_validity;
}

base::mono_ns quota_clock::lag_max() const {
    return quota_validity + round_trip_;
}

void quota_clock::adopt(replicate::protocol::cluster_ns latest, boot_ns start, boot_ns now) {
    offset_ = latest - now;
    confirmed_ = now;
    round_trip_ = now - start;
}

void quota_clock::confirm(replicate::protocol::cluster_ns latest, boot_ns start, boot_ns now) {
    if (!is_valid(now)) return adopt(latest, start, now);
    offset_ = std::max(offset_, latest - now);
    confirmed_ = start;
    round_trip_ = now - start;
}

}  // namespace latchkey::cluster
