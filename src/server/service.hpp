// The service in one process: opens the store, starts the workers, handles signals on the calling
// thread, and shuts down in order. SIGTERM and SIGINT stop (a second one cuts the grace period
// short), and so does a successor that takes over. SIGHUP reloads the configuration and the
// certificate and reopens the access log: all of it, or nothing if any part is invalid.
#pragma once

#include "base/result.hpp"
#include "server/process/config.hpp"
#include "server/process/reload.hpp"

namespace latchkey::server {

// Returns after an orderly stop; the error says why the service could not start. Call it before any
// other thread exists: it sets the signal mask. `takes_over`: from the service that runs with this
// data directory, which goes on with the connections that it has until they end, while all new ones
// are this process's (docs/decisions/shutdown.md).
base::result<void> serve_until_stopped(config const& configuration, config_reader reader,
                                       bool takes_over = false);

}  // namespace latchkey::server
