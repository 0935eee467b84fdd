#include "server/net/address_counts.hpp"

#include <string_view>

#include "base/check.hpp"
#include "base/hash.hpp"

namespace latchkey::server {

address_counts::address_counts(std::uint64_t per_address, std::uint64_t connections_max,
                               std::uint64_t seed)
    : per_address_(per_address), seed_(seed), slots_(on() ? 2 * connections_max + 1 : 0) {}

bool address_counts::enter(model::address const& network) {
    std::lock_guard const lock(mutex_);
    auto& slot = slots_[find(network)];
    if (slot.count >= per_address_) return false;
    slot.network = network;
    ++slot.count;
    return true;
}

void address_counts::leave(model::address const& network) {
    std::lock_guard const lock(mutex_);
    auto hole = find(network);
    // Each transport enters once and leaves once.
    base::check(slots_[hole].count != 0, "a connection left that had not entered");
    if (--slots_[hole].count != 0) return;
    // Deletion with linear probing: entries that were displaced move up (Knuth, TAOCP 6.4,
    // algorithm R).
    for (auto next = after(hole); slots_[next].count != 0; next = after(next)) {
        auto const home = home_of(slots_[next].network);
        bool const stays = hole < next ? hole < home && home <= next : hole < home || home <= next;
        if (stays) continue;
        slots_[hole] = slots_[next];
        slots_[next].count = 0;
        hole = next;
    }
}

std::size_t address_counts::home_of(model::address const& network) const {
    std::string_view const bytes(reinterpret_cast<char const*>(network.bytes.data()),
                                 network.bytes.size());
    return base::hash(bytes, seed_) % slots_.size();
}

std::size_t address_counts::find(model::address const& network) const {
    auto index = home_of(network);
    while (slots_[index].count != 0 && slots_[index].network != network) index = after(index);
    return index;
}

}  // namespace latchkey::server
