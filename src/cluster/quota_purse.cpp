#include "cluster/quota_purse.hpp"

namespace latchkey::cluster {

quota_verdict quota_purse::admit(model::id key, limit::policy const& policy, boot_ns now,
                                 std::uint32_t cost, quota_ticket& ticket) {
    thread_.check();
    auto& place = entries_[static_cast<std::uint64_t>(key) % entries];
    if (cost != 1 || policy.rules.empty() || !claim(place, key, policy.content, now))
        return shared_.admit(key, policy, now, cost, ticket);
    if (now > place.end) place.tokens = 0;
    if (place.tokens == 0 && is_hot(place, now)) {
        place.end = shared_.take(key, policy, now, batch);
        place.tokens = place.end == 0 ? 0 : batch;
        place.count_start = now;  // used up as fast, it is still hot
    }
    if (place.tokens == 0) return shared_.admit(key, policy, now, cost, ticket);
    --place.tokens;
    return {.decision = shared_.levels(key, policy, now, place.tokens)};
}

bool quota_purse::claim(entry& place, model::id key, std::uint64_t policy, boot_ns now) {
    if (place.key == key && place.policy == policy) return true;
    bool const is_used =
        now <= place.count_start + hot_ns || (place.tokens != 0 && now <= place.end);
    if (place.key != key && place.key != 0 && is_used) return false;
    place = {.key = key, .policy = policy, .count_start = now};
    return true;
}

bool quota_purse::is_hot(entry& place, boot_ns now) {
    if (now > place.count_start + hot_ns) {
        place.count_start = now;
        place.charges = 0;
    }
    return ++place.charges >= hot_charges;
}

}  // namespace latchkey::cluster
