// The whole service in one process: opens the store, starts the workers, obeys signals on the
// calling thread, and stops in order. SIGTERM and SIGINT stop (a second one cuts the grace period
// short), SIGHUP reads certificates anew and reopens the access log.
#pragma once

#include "base/result.hpp"
#include "server/config.hpp"

namespace latchkey::server {

// Whether the files that a configuration names can be used: the certificate and its key.
base::result<void> check_files(config const& configuration);

// Returns after an orderly stop; the error is what kept the service from starting. To be called
// before any other thread exists, since it sets the signal mask.
base::result<void> serve_until_stopped(config const& configuration);

}  // namespace latchkey::server
