// Listening sockets. A TCP address has one socket per worker (SO_REUSEPORT); the kernel picks the
// one of the core where a connection's packets arrive (SO_INCOMING_CPU, socket(7)). A trial bind
// without SO_REUSEPORT first shows that the port is free: another process listening there would
// silently receive a share of the connections. A Unix socket, or one that the service manager
// passed in, is one descriptor for all workers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "server/process/handover.hpp"
#include "server/process/listen_address.hpp"
#include "server/process/systemd_notifier.hpp"

namespace latchkey::server {

// The sockets of one address. Owns its descriptors.
class listen_sockets {
  public:
    // Port 0 is replaced by the port that the kernel chose.
    static base::result<listen_sockets> open(listen_address address, unsigned workers);
    // The sockets that a predecessor opened for this address, and those that more workers need; a
    // predecessor's have the port that it got. Only `begin_listening` makes them this process's.
    static base::result<listen_sockets> adopt(listen_address address, unsigned workers,
                                              handover::passed_listener passed);
    // As `open`, but clients are refused until `begin_listening`.
    static base::result<listen_sockets> reserve(listen_address address, unsigned workers);
    base::result<void> begin_listening();
    // A successor has them: they stay open, and a Unix socket keeps its file.
    void hand_over() { is_handed_over_ = true; }
    // Socket activation: the passed-in sockets with the name of `address`, each one descriptor for
    // all workers; their `address()` is what they are bound to. The service manager keeps them open
    // and goes on listening after the service has stopped.
    static base::result<std::vector<listen_sockets>> take(listen_address const& address,
                                                          std::span<passed_socket const> passed_in);
    listen_sockets(listen_sockets&&) noexcept;
    listen_sockets& operator=(listen_sockets&&) = delete;
    ~listen_sockets();

    listen_address const& address() const { return address_; }
    // As it was configured, before the kernel chose a port or a name was resolved.
    listen_address const& configured_address() const { return configured_; }
    bool passed_in() const { return passed_in_; }
    bool shared() const {
        return passed_in_ || address_.scheme == listen_address::kind::unix_socket;
    }
    // Those of one worker of so many: its own, the one that all share, or several where a
    // predecessor had more workers.
    std::vector<int> descriptors_of(unsigned worker, unsigned workers) const;
    std::vector<int> descriptors() const { return descriptors_of(0, 1); }
    int descriptor_of(unsigned worker) const {
        return sockets_[sockets_.size() == 1 ? 0 : worker].get();
    }

  private:
    listen_sockets() = default;
    base::result<void> open_tcp(unsigned workers);
    base::result<void> add_tcp(unsigned workers);
    base::result<void> open_unix();
    base::result<void> inspect_passed_in(listen_address const& address);

    listen_address address_, configured_;
    std::vector<base::descriptor> sockets_;
    std::size_t listening_ = 0;  // so many of them listen
    bool passed_in_ = false;
    bool is_handed_over_ = false;
};

// A listening socket as one worker uses it.
struct listener {
    int fd = -1;
    bool tls = false;
    bool proxy = false;      // connections start with a PROXY header
    bool passed_in = false;  // the service manager has it too: never shut down
    // All workers accept on it, one connection per accept: the kernel wakes the longest waiter, and
    // a multishot accept would keep its place in the queue and get every connection.
    bool shared = false;
};

}  // namespace latchkey::server
