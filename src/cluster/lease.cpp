#include "cluster/lease.hpp"

#include <algorithm>

namespace latchkey::cluster {

void lease::renew(boot_ns start, std::uint64_t head) {
    pending_.push_back({start + duration_, head});
    reach(position_);
}

void lease::reach(std::uint64_t position) {
    position_ = std::max(position_, position);
    std::erase_if(pending_, [this](renewal const& each) {
        if (each.head > position_) return false;
        end_ = std::max(end_, each.end);
        return true;
    });
}

void lease::end() {
    end_ = 0;
    pending_.clear();
}

}  // namespace latchkey::cluster
