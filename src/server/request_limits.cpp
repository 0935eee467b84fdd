#include "server/request_limits.hpp"

#include <utility>

#include "auth/key_form.hpp"
#include "domain/snapshot.hpp"
#include "server/process/bucket_file.hpp"

namespace latchkey::server {
namespace {

base::instant store_now(store::environment const& store) {
    auto now = base::read_clocks();
    now.wall = store.time();
    return now;
}

}  // namespace

base::result<void> request_limits::open(config const& configuration, unsigned workers) {
    auto table = limit::buckets::make();
    if (!table) return table.error();
    buckets = std::move(*table);
    std::uint64_t seed = 0;
    auth::random_bytes(&seed, sizeof seed);
    failures = std::make_unique<limit::auth_failure_limiter>(
        static_cast<std::uint32_t>(configuration.auth_failures_per_minute), seed);
    open_by_address = std::make_unique<address_counts>(configuration.http_connections_per_address,
                                                       configuration.connections * workers, seed);
    return {};
}

void request_limits::restore(store::environment& store, std::string const& folder) {
    domain::snapshot snapshot(store);
    snapshot.renew();
    restore_buckets(*buckets, folder, store_now(store), snapshot.key_epoch());
}

void request_limits::save(store::environment const& store, std::string const& folder) const {
    save_buckets(*buckets, folder, store_now(store));
}

void request_limits::allow_failures(config const& configuration) {
    failures->allow(static_cast<std::uint32_t>(configuration.auth_failures_per_minute));
}

}  // namespace latchkey::server
