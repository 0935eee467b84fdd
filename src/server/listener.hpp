// Sockets that listen. A TCP address gets one socket per worker (SO_REUSEPORT), of which the kernel
// chooses the one of the core where a connection's packets come in (SO_INCOMING_CPU, socket(7)),
// after a trial bind without it has shown that the port is free: another process' listener on the
// same port would silently take its share. A Unix socket, and one that was handed in, is one
// descriptor for all workers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "server/address.hpp"
#include "server/systemd.hpp"

namespace latchkey::server {

// One address, bound. Owns its descriptors.
class listening {
  public:
    // A port of 0 is replaced by the one that was found.
    static base::result<listening> open(listen_address where, unsigned workers);
    // Those of the sockets that were handed in under the name of `where`, one descriptor each for
    // all workers; `where()` says what they are bound to. They stay the manager's: it listens on
    // when we do not any more.
    static base::result<std::vector<listening>> take(listen_address const& where,
                                                     std::span<handed_socket const> handed);
    listening(listening&&) noexcept;
    listening& operator=(listening&&) = delete;
    ~listening();

    listen_address const& where() const { return where_; }
    bool handed() const { return handed_; }
    bool shared() const { return handed_ || where_.scheme == listen_address::kind::unix_socket; }
    int descriptor_of(unsigned worker) const {
        return sockets_.size() == 1 ? sockets_[0] : sockets_[worker];
    }

  private:
    listening() = default;
    base::result<void> open_tcp(unsigned workers);
    base::result<void> open_unix();
    base::result<void> look_at_handed(listen_address const& where);

    listen_address where_;
    std::vector<int> sockets_;
    bool handed_ = false;
};

// What one worker accepts on.
struct listener {
    int fd = -1;
    bool tls = false;
    bool proxy = false;   // a PROXY header comes first
    bool handed = false;  // others listen on it too, so it is never shut
    // All workers accept on it, each one connection at a time, and then waits behind the others:
    // the kernel wakes who has waited longest, and a multishot accept would never leave its place.
    bool shared = false;
};

}  // namespace latchkey::server
