// What limits the requests of keys, the failures of addresses and their connections. Opened and
// saved on the main thread; the parts are shared by all workers.
#pragma once

#include <memory>
#include <string>

#include "limit/auth_failure_limiter.hpp"
#include "limit/buckets.hpp"
#include "server/net/address_counts.hpp"
#include "server/process/config.hpp"
#include "store/environment.hpp"

namespace latchkey::server {

struct request_limits {
    std::unique_ptr<limit::buckets> buckets;
    std::unique_ptr<limit::auth_failure_limiter> failures;
    std::unique_ptr<address_counts> open_by_address;

    base::result<void> open(config const& configuration, unsigned workers);
    // The tokens that the keys had when the service was stopped. Those of a node are the engine's,
    // and end with it.
    void restore(store::environment& store, std::string const& folder);
    void save(store::environment const& store, std::string const& folder) const;
    // As of a configuration that was read again.
    void allow_failures(config const& configuration);
};

}  // namespace latchkey::server
