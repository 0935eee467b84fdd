// Open connections by client address, for `http.connections_per_address`: exact over all workers.
// Of IPv6 a /64 counts as one address. A table of fixed size under a mutex; it is touched when a
// connection begins and ends, never by a request, and not at all while the limit is off. Any
// thread.
//
//     if (!counts.enter(network)) … close …      // later, for each that was let in:
//     counts.leave(network);
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "model/cidr.hpp"

namespace latchkey::server {

class address_counts {
  public:
    // `per_address` 0: no limit, and no table. At most `connections_max` may be open at a time.
    // The seed is from the system's random source, so that nobody can aim at a place.
    address_counts(std::uint64_t per_address, std::uint64_t connections_max, std::uint64_t seed);

    bool on() const { return per_address_ != 0; }
    // `network` is limit::network_of a client. False: it has as many as it may have.
    bool enter(model::address const& network);
    void leave(model::address const& network);

  private:
    struct place {
        model::address network;
        std::uint64_t count = 0;  // 0: free
    };
    std::size_t home_of(model::address const& network) const;
    std::size_t find(model::address const& network) const;  // its place, or the free one for it
    std::size_t after(std::size_t place) const { return (place + 1) % places_.size(); }

    std::uint64_t const per_address_;
    std::uint64_t const seed_;
    std::mutex mutex_;
    std::vector<place> places_;  // linear probing; at most half full
};

}  // namespace latchkey::server
