#include "auth/uses.hpp"

#include <algorithm>

namespace latchkey::auth {

void uses::note(model::id key, base::wall_ms at) {
    auto& entry = seen_[key];
    entry.at = std::max(entry.at, at);
    if (std::exchange(entry.fresh, true)) return;
    fresh_.push_back(key);
}

base::wall_ms uses::last(model::id key) const {
    auto const found = seen_.find(key);
    return found == seen_.end() ? 0 : found->second.at;
}

std::vector<std::pair<model::id, base::wall_ms>> uses::take(std::size_t most) {
    std::vector<std::pair<model::id, base::wall_ms>> taken;
    for (; !fresh_.empty() && taken.size() < most; fresh_.pop_back()) {
        auto& entry = seen_[fresh_.back()];
        entry.fresh = false;
        taken.emplace_back(fresh_.back(), entry.at);
    }
    if (fresh_.empty() && seen_.size() > remembered_max) seen_.clear();
    return taken;
}

}  // namespace latchkey::auth
