#include "limit/leases.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace latchkey::limit {

leases::leases(buckets& shared, settings how) : shared_(shared), how_(how) {
    base::check(how.tokens <= tokens_max, "a lease of more than a few tokens");
}

decision leases::admit(model::id key, policy const& rules, base::mono_ns now, std::uint32_t cost) {
    auto& at = entries_[static_cast<std::uint64_t>(key) % entries];
    if (how_.tokens == 0 || rules.rules.empty() || !take_place(at, key, rules, now))
        return shared_.admit(key, rules, now, cost);
    if (at.left != 0 && now > at.ends) forfeit(at);
    if (at.left != 0 && cost <= at.left) return spend(at, rules, now, cost);
    if (at.left == 0 && cost == 1 && is_hot(at, now) &&
        shared_.lease(key, rules, now, how_.tokens, at.arrivals)) {
        at.left = how_.tokens;
        at.ends = now + lease_ns;
        ++count_.taken;
        return spend(at, rules, now, cost);
    }
    return shared_.admit(key, rules, now, cost);
}

// Makes the entry that of this key and policy. False: it belongs to another key that was charged
// just now, which keeps it, so that two hot keys do not take turns at forfeiting.
bool leases::take_place(entry& at, model::id key, policy const& rules, base::mono_ns now) {
    if (at.key == key && at.version == rules.version) return true;
    if (at.key != key && at.key != 0 && now <= std::max(at.ends, at.since + lease_ns)) return false;
    if (at.left != 0) forfeit(at);
    at = {};
    at.key = key;
    at.version = rules.version;
    at.since = now;
    return true;
}

// Counts one more charge. Where a lease was used up before its end, the count goes on from there.
bool leases::is_hot(entry& at, base::mono_ns now) const {
    if (now > at.since + lease_ns) {
        bool const stays = at.ends != 0 && now <= at.ends + lease_ns;
        at.since = now;
        at.charges = stays ? at.charges : 0;
    }
    at.charges = std::min(at.charges + 1, how_.hot);
    return at.charges >= how_.hot;
}

decision leases::spend(entry& at, policy const& rules, base::mono_ns now, std::uint32_t cost) {
    at.left -= cost;
    count_.spent += cost;
    decision seen;
    seen.count = static_cast<std::uint8_t>(rules.rules.size());
    for (std::size_t i = 0; i < rules.rules.size(); ++i) {
        rule const& by = rules.rules[i];
        std::int64_t const arrival = at.arrivals[i] - at.left * by.interval_ns;
        seen.standings[i] = standing_of(std::max<std::int64_t>(0, arrival - now), by);
    }
    return seen;
}

// Whoever does not use a lease up must show again that it is hot.
void leases::forfeit(entry& at) {
    count_.forfeited += std::exchange(at.left, 0u);
    at.charges = 0;
    at.ends = 0;
}

}  // namespace latchkey::limit
