#include "auth/usage_counter.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::auth {

using model::granularity;

void usage_counter::note(model::id key, base::wall_ms time) {
    auto& last = fresh_entry(key).use.last_used;
    last = std::max(last, time);
}

void usage_counter::count(model::id key, base::wall_ms time, unsigned status, bool limited) {
    auto& use = fresh_entry(key).use;
    if (time - use.minute >= length_of(granularity::minute)) [[unlikely]] {
        if (use.counted != model::usage{})
            past_.push_back({.key = key, .minute = use.minute, .counted = use.counted});
        use.counted = {};
        use.minute = start_of(granularity::minute, time);
    }
    use.counted.count(status, limited);
}

usage_counter::entry& usage_counter::fresh_entry(model::id key) {
    if (latest_ == nullptr || latest_->use.key != key) {
        latest_ = &entries_[key];
        latest_->use.key = key;
    }
    if (!std::exchange(latest_->fresh, true)) fresh_.push_back(key);
    return *latest_;
}

base::wall_ms usage_counter::last(model::id key) const {
    auto const position = entries_.find(key);
    return position == entries_.end() ? 0 : position->second.use.last_used;
}

std::vector<domain::key_use> usage_counter::take(std::size_t count_max) {
    auto const past_count = std::min(count_max, past_.size());
    std::vector<domain::key_use> batch(past_.end() - static_cast<std::ptrdiff_t>(past_count),
                                       past_.end());
    past_.resize(past_.size() - past_count);
    for (; !fresh_.empty() && batch.size() < count_max; fresh_.pop_back()) {
        auto& entry = entries_.at(fresh_.back());
        entry.fresh = false;
        batch.push_back(entry.use);
        entry.use.counted = {};
    }
    if (fresh_.empty() && entries_.size() > entries_max) {
        entries_.clear();
        latest_ = nullptr;
    }
    return batch;
}

std::vector<model::digest> usage_counter::take_exposed() {
    std::vector<model::digest> all(exposed_.begin(), exposed_.end());
    exposed_.clear();
    return all;
}

std::uint64_t usage_counter::put_back(std::vector<domain::key_use> const& uses) {
    std::uint64_t loss = 0;
    for (auto const& each : uses) {
        if (each.last_used != 0) note(each.key, each.last_used);
        if (each.counted.requests() == 0) continue;
        if (past_.size() < past_max)
            past_.push_back({.key = each.key, .minute = each.minute, .counted = each.counted});
        else
            loss += each.counted.requests();
    }
    return loss;
}

}  // namespace latchkey::auth
