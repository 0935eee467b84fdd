// The charge of a key's limits: the buckets of this machine or, in a cluster, tokens that the nodes
// share (cluster/quota.hpp), for which a request may have to wait. Values; on the worker's thread.
#pragma once

#include <cstdint>

#include "api/frame/request_services.hpp"
#include "auth/cache.hpp"
#include "base/clock.hpp"
#include "cluster/quota.hpp"

namespace latchkey::api {

// The charge for which one request waits, and how long it has waited for any.
struct token_wait {
    cluster::quota_ticket ticket;
    bool is_pending = false;     // by the latest charge
    base::mono_ns start = 0;     // 0: it does not wait
    base::mono_ns duration = 0;  // of the waits that are over
};

// `pending`: to be called again with the same `wait` when there is news of tokens.
cluster::quota_verdict charge(request_services& services, auth::principal const& key,
                              std::uint32_t cost, base::instant now, token_wait& wait);
// Only a hint.
void prefetch_limits(request_services const& services, model::id key);

}  // namespace latchkey::api
