// The service in one process: opens the store, starts the workers, handles signals on the calling
// thread, and shuts down in order. SIGTERM and SIGINT stop (a second one cuts the grace period
// short). SIGHUP reloads the configuration and the certificate and reopens the access log: all of
// it, or nothing if any part is invalid.
#pragma once

#include <functional>

#include "base/result.hpp"
#include "server/process/config.hpp"

namespace latchkey::server {

// Reads the configuration again on SIGHUP, validated as at the start.
using config_reader = std::function<base::result<config>()>;

// Returns after an orderly stop; the error says why the service could not start. Call it before any
// other thread exists: it sets the signal mask.
base::result<void> serve_until_stopped(config const& configuration, config_reader reader);

}  // namespace latchkey::server
