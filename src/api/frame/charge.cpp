#include "api/frame/charge.hpp"

#include "cluster/quota_purse.hpp"

namespace latchkey::api {

cluster::quota_verdict charge(request_services& services, auth::principal const& key,
                              std::uint32_t cost, base::instant now, token_wait& wait) {
    auto const id = key.record().id;
    if (services.quota == nullptr) [[likely]]
        return {.decision = services.buckets.admit(id, key.limits(), now.mono, cost)};
    auto const verdict = services.quota->admit(id, key.limits(), services.boot, cost, wait.ticket);
    wait.is_pending = verdict.state == cluster::quota_state::pending;
    if (wait.is_pending) {
        if (wait.start == 0) wait.start = now.mono;
    } else if (wait.start != 0) {
        wait.duration += now.mono - wait.start;
        wait.start = 0;
        wait.ticket = {};
    }
    return verdict;
}

void prefetch_limits(request_services const& services, model::id key) {
    services.quota == nullptr ? services.buckets.prefetch(key) : services.quota->prefetch(key);
}

}  // namespace latchkey::api
