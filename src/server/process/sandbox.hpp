// Applies the sandbox of confine.hpp to the service: which files it keeps, and what happens where
// the system lacks Landlock or seccomp. Main thread.
#pragma once

#include <span>

#include "base/result.hpp"
#include "server/process/config.hpp"
#include "server/process/listener.hpp"

namespace latchkey::server {

class file_sandbox {
  public:
    // Keeps what a reload reads, the data directory, the access log, and the Unix sockets for their
    // removal. Without Landlock it logs a warning and changes nothing. Before the first thread.
    void confine(config const& configuration, std::span<listen_sockets const> sockets);
    // Adds the reason to EACCES for a file outside of the sandbox.
    base::error explain(base::error failure) const;

  private:
    bool active_ = false;
};

// Hides the memory and filters system calls. Where a sandbox around the service allows no seccomp
// filter it logs a warning; only the outer rules apply then. After the last thread has started.
void confine_system_calls();

}  // namespace latchkey::server
