#include "auth/uses.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::auth {

using model::granularity;

void uses::note(model::id key, base::wall_ms at) {
    auto& last = fresh_entry(key).seen.last_used;
    last = std::max(last, at);
}

void uses::count(model::id key, base::wall_ms at, unsigned status, bool limited) {
    auto& seen = fresh_entry(key).seen;
    if (at - seen.minute >= length_of(granularity::minute)) [[unlikely]] {
        if (seen.counted != model::usage{})
            past_.push_back({.key = key, .minute = seen.minute, .counted = seen.counted});
        seen.counted = {};
        seen.minute = start_of(granularity::minute, at);
    }
    seen.counted.count(status, limited);
}

uses::entry& uses::fresh_entry(model::id key) {
    if (latest_ == nullptr || latest_->seen.key != key) {
        latest_ = &seen_[key];
        latest_->seen.key = key;
    }
    if (!std::exchange(latest_->fresh, true)) fresh_.push_back(key);
    return *latest_;
}

base::wall_ms uses::last(model::id key) const {
    auto const found = seen_.find(key);
    return found == seen_.end() ? 0 : found->second.seen.last_used;
}

std::vector<store::key_use> uses::take(std::size_t most) {
    auto const from_past = std::min(most, past_.size());
    std::vector<store::key_use> taken(past_.end() - static_cast<std::ptrdiff_t>(from_past),
                                      past_.end());
    past_.resize(past_.size() - from_past);
    for (; !fresh_.empty() && taken.size() < most; fresh_.pop_back()) {
        auto& entry = seen_.at(fresh_.back());
        entry.fresh = false;
        taken.push_back(entry.seen);
        entry.seen.counted = {};
    }
    if (fresh_.empty() && seen_.size() > remembered_max) seen_.clear(), latest_ = nullptr;
    return taken;
}

std::uint64_t uses::put_back(std::vector<store::key_use> const& refused) {
    std::uint64_t forgotten = 0;
    for (auto const& each : refused) {
        if (each.last_used != 0) note(each.key, each.last_used);
        if (each.counted.requests() == 0) continue;
        if (past_.size() < past_max)
            past_.push_back({.key = each.key, .minute = each.minute, .counted = each.counted});
        else
            forgotten += each.counted.requests();
    }
    return forgotten;
}

}  // namespace latchkey::auth
