#include "cluster/lease.hpp"

#include <algorithm>

namespace latchkey::cluster {

void lease::renew(boot_ns start, std::uint64_t head) {
    pending_.push_back({start + duration_, head});
    reach(position_);
}

void lease::reach(std::uint64_t position) {
    position_ = std::max(position_, position);
    while (!pending_.empty() && pending_.front().head <= position_) {
        end_ = std::max(end_, pending_.front().end);
        pending_.pop_front();
    }
}

void lease::end() {
    end_ = 0;
    pending_.clear();
}

}  // namespace latchkey::cluster
