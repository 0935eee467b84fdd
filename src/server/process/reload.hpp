// Computes a reload: of the settings that changed in the file, some can be applied while the
// service runs, the others take a restart. Values; any thread.
#pragma once

#include <functional>
#include <string>

#include "server/process/config.hpp"

namespace latchkey::server {

// Reads the configuration again on SIGHUP, validated as at the start.
using config_reader = std::function<base::result<config>()>;

struct reloaded {
    config configuration;      // the new one, with the old value of what takes a restart
    std::string changes;       // "auth.allow_query, http.idle_seconds"; empty: nothing
    std::string need_restart;  // the settings that keep their old value
};

// `update` has passed `validate`. The result is validated too, because old and new values must fit
// together (a plain listener with the proxies that it needs).
base::result<reloaded> reload_of(config const& running, config const& update);

}  // namespace latchkey::server
