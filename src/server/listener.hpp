// Sockets that listen. A TCP address gets one socket per worker (SO_REUSEPORT spreads connections),
// after a trial bind without it has shown that the port is free: another process' listener on the
// same port would silently take its share. A Unix socket is one descriptor for all workers.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "server/address.hpp"

namespace latchkey::server {

// One address, bound. Owns its descriptors.
class listening {
  public:
    // A port of 0 is replaced by the one that was found.
    static base::result<listening> open(listen_address where, unsigned workers);
    listening(listening&&) noexcept;
    listening& operator=(listening&&) = delete;
    ~listening();

    listen_address const& where() const { return where_; }
    int descriptor_of(unsigned worker) const {
        return sockets_.size() == 1 ? sockets_[0] : sockets_[worker];
    }

  private:
    listening() = default;
    base::result<void> open_tcp(unsigned workers);
    base::result<void> open_unix();

    listen_address where_;
    std::vector<int> sockets_;
};

// What one worker accepts on.
struct listener {
    int fd = -1;
    bool tls = false;
    bool proxy = false;  // a PROXY header comes first
};

}  // namespace latchkey::server
