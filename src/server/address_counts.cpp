#include "server/address_counts.hpp"

#include <string_view>

#include "base/check.hpp"
#include "base/hash.hpp"

namespace latchkey::server {

address_counts::address_counts(std::uint64_t per_address, std::uint64_t connections_max,
                               std::uint64_t seed)
    : per_address_(per_address), seed_(seed), places_(on() ? 2 * connections_max + 1 : 0) {}

bool address_counts::enter(model::address const& network) {
    std::lock_guard const held(mutex_);
    auto& at = places_[find(network)];
    if (at.count >= per_address_) return false;
    at.network = network;
    ++at.count;
    return true;
}

void address_counts::leave(model::address const& network) {
    std::lock_guard const held(mutex_);
    auto hole = find(network);
    base::check(places_[hole].count != 0, "a connection left that had not entered");
    if (--places_[hole].count != 0) return;
    // Whoever was pushed on by the one that is gone moves up (Knuth, TAOCP 6.4, algorithm R).
    for (auto next = after(hole); places_[next].count != 0; next = after(next)) {
        auto const home = home_of(places_[next].network);
        bool const stays = hole < next ? hole < home && home <= next : hole < home || home <= next;
        if (stays) continue;
        places_[hole] = places_[next];
        places_[next].count = 0;
        hole = next;
    }
}

std::size_t address_counts::home_of(model::address const& network) const {
    std::string_view const bytes(reinterpret_cast<char const*>(network.bytes.data()),
                                 network.bytes.size());
    return base::hash(bytes, seed_) % places_.size();
}

std::size_t address_counts::find(model::address const& network) const {
    auto at = home_of(network);
    while (places_[at].count != 0 && places_[at].network != network) at = after(at);
    return at;
}

}  // namespace latchkey::server
