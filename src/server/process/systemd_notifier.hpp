// The protocols of systemd and compatible service managers: socket activation (sd_listen_fds(3)),
// readiness and the watchdog (sd_notify(3)). Without a service manager all of it does nothing. Main
// thread only: it reads the environment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/system/descriptor.hpp"

namespace latchkey::server {

// A descriptor that was passed in, with its FileDescriptorName=.
struct passed_socket {
    int fd = -1;
    std::string name;
};
// Reads LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES, and removes them: child processes inherit
// neither the variables nor the descriptors.
std::vector<passed_socket> passed_sockets();

// Uses NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
class systemd_notifier {
  public:
    systemd_notifier();

    // `lines` such as "READY=1\nSTATUS=…", without a final line end. Blocks for 200 ms at most;
    // what cannot be sent is dropped.
    void notify(std::string_view lines) const;
    // RELOADING=1 with the time at which the reload began.
    void notify_reloading(base::mono_ns now) const;
    // A service manager started this process and waits for its words.
    bool is_managed() const { return socket_.is_open(); }
    // The interval of watchdog pings, half of the manager's timeout; 0: no watchdog.
    base::mono_ns watchdog_every() const { return watchdog_every_; }

  private:
    base::descriptor socket_;
    std::string address_;  // as in sockaddr_un; abstract ones begin with NUL
    base::mono_ns watchdog_every_ = 0;
};

}  // namespace latchkey::server
