// Open connections by client address, for `http.connections_per_address`: exact over all workers.
// An IPv6 /64 counts as one address. A hash table of fixed size with linear probing, under a mutex
// that is taken when a connection begins and ends, never by a request, and not at all while the
// limit is off. Any thread.
//
//     if (!counts.enter(network)) … close …
//     counts.leave(network);                     // once for each that has entered
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "model/address.hpp"

namespace latchkey::server {

class address_counts {
  public:
    // `per_address` 0: no limit, and no table. At most `connections_max` may be open at a time.
    // The seed is from the system's random source, so that collisions cannot be provoked.
    address_counts(std::uint64_t per_address, std::uint64_t connections_max, std::uint64_t seed);

    bool on() const { return per_address_ != 0; }
    // `network` is limit::network_of a client. False: it has as many as it may have.
    bool enter(model::address const& network);
    void leave(model::address const& network);

  private:
    struct slot {
        model::address network;
        std::uint64_t count = 0;  // 0: free
    };
    std::size_t home_of(model::address const& network) const;
    std::size_t find(model::address const& network) const;  // its slot, or the free one for it
    std::size_t after(std::size_t index) const { return (index + 1) % slots_.size(); }

    std::uint64_t const per_address_;
    std::uint64_t const seed_;
    std::mutex mutex_;
    std::vector<slot> slots_;  // linear probing; at most half full
};

}  // namespace latchkey::server
