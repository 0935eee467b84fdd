// The whole service in one process: opens the store, starts the workers, obeys signals on the
// calling thread, and stops in order. SIGTERM and SIGINT stop (a second one cuts the grace period
// short), SIGHUP reads the configuration and the certificate anew and reopens the access log: all
// of it, or, when anything of it is wrong, nothing.
#pragma once

#include <functional>

#include "base/result.hpp"
#include "server/config.hpp"

namespace latchkey::server {

// Whether the files that a configuration names can be used: the certificate and its key.
base::result<void> check_files(config const& configuration);

// Reads the configuration anew, for SIGHUP: as at the start, valid or with what is wrong.
using read_again = std::function<base::result<config>()>;

// Returns after an orderly stop; the error is what kept the service from starting. To be called
// before any other thread exists, since it sets the signal mask.
base::result<void> serve_until_stopped(config const& configuration, read_again again);

}  // namespace latchkey::server
