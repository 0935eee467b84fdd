// What a service manager hands to the process and wants to hear from it: sockets
// (sd_listen_fds(3)), readiness and the watchdog (sd_notify(3)), over the documented protocols.
// Where there is no manager all of it does nothing. Main thread only: it reads the environment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace latchkey::server {

// A descriptor that was handed in, and the name that the manager gave it (FileDescriptorName=).
struct handed_socket {
    int fd = -1;
    std::string name;
};
// LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES. From now on a program that is started gets none of them.
std::vector<handed_socket> handed_sockets();

// NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID.
class manager {
  public:
    manager();
    ~manager();
    manager(manager const&) = delete;
    manager& operator=(manager const&) = delete;

    // "READY=1", "STATUS=…\n…": lines without the last line's end. Never blocks for long; what
    // cannot be said is not said.
    void tell(std::string_view lines) const;
    // With RELOADING=1 goes the time at which it began.
    void tell_reloading(base::mono_ns now) const;
    // How often the manager wants to hear that the process lives, twice as often as it must; 0:
    // never.
    base::mono_ns watchdog_every() const { return watchdog_every_; }

  private:
    int fd_ = -1;
    std::string address_;  // as in sockaddr_un; abstract ones begin with NUL
    base::mono_ns watchdog_every_ = 0;
};

}  // namespace latchkey::server
