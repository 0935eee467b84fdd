#include "limit/leases.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace latchkey::limit {

leases::leases(buckets& shared, tuning const& tuning) : shared_(shared), tuning_(tuning) {
    // It is a constant of the program.
    base::check(tuning.tokens <= tokens_max, "a lease beyond its bound");
}

decision leases::admit(model::id key, policy const& policy, base::mono_ns now, std::uint32_t cost) {
    thread_.check();
    auto& slot = entries_[static_cast<std::uint64_t>(key) % entries];
    if (tuning_.tokens == 0 || policy.rules.empty() || !claim_entry(slot, key, policy, now))
        return shared_.admit(key, policy, now, cost);
    if (slot.tokens != 0 && now > slot.lease_end) forfeit(slot);
    if (slot.tokens != 0 && cost <= slot.tokens) return spend(slot, policy, now, cost);
    if (slot.tokens == 0 && cost == 1 && is_hot(slot, now) &&
        shared_.lease(key, policy, now, tuning_.tokens, slot.arrivals)) {
        slot.tokens = tuning_.tokens;
        slot.lease_end = now + lease_ns;
        ++count_.leases;
        return spend(slot, policy, now, cost);
    }
    return shared_.admit(key, policy, now, cost);
}

// Claims the entry for this key and policy. False: it belongs to another key that was charged
// within L and keeps it, so that two hot keys do not evict each other in turn.
bool leases::claim_entry(entry& slot, model::id key, policy const& policy, base::mono_ns now) {
    if (slot.key == key && slot.version == policy.version) return true;
    if (slot.key != key && slot.key != 0 &&
        now <= std::max(slot.lease_end, slot.window_start + lease_ns))
        return false;
    if (slot.tokens != 0) forfeit(slot);
    slot = {};
    slot.key = key;
    slot.version = policy.version;
    slot.window_start = now;
    return true;
}

// Counts one more charge. Where a lease was used up before its end, counting continues from there.
bool leases::is_hot(entry& slot, base::mono_ns now) const {
    if (now > slot.window_start + lease_ns) {
        bool const is_continued = slot.lease_end != 0 && now <= slot.lease_end + lease_ns;
        slot.window_start = now;
        slot.charges = is_continued ? slot.charges : 0;
    }
    slot.charges = std::min(slot.charges + 1, tuning_.hot_charges);
    return slot.charges >= tuning_.hot_charges;
}

decision leases::spend(entry& slot, policy const& policy, base::mono_ns now, std::uint32_t cost) {
    slot.tokens -= cost;
    count_.spent += cost;
    decision result;
    result.count = static_cast<std::uint8_t>(policy.rules.size());
    for (std::size_t i = 0; i < policy.rules.size(); ++i) {
        rule const& rule = policy.rules[i];
        std::int64_t const arrival = slot.arrivals[i] - slot.tokens * rule.interval_ns;
        result.levels[i] = level_of(std::max<std::int64_t>(0, arrival - now), rule);
    }
    return result;
}

// A key that does not use up its lease must become hot again.
void leases::forfeit(entry& slot) {
    count_.forfeited += std::exchange(slot.tokens, 0u);
    slot.charges = 0;
    slot.lease_end = 0;
}

}  // namespace latchkey::limit
