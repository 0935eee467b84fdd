// What a reload comes to: the file was read anew, and some of what changed in it can be applied
// while the service runs. Values; any thread.
#pragma once

#include <string>

#include "server/config.hpp"

namespace latchkey::server {

struct reloaded {
    config settings;           // as read, but with what takes a restart as it was
    std::string changed;       // "auth.allow_query, http.idle_seconds"; empty: nothing
    std::string need_restart;  // what was left as it was
};

// `read` has passed `validate`. The outcome is validated too: what is left as it was must go
// together with what is new (a plain listener with the proxies that it needs).
base::result<reloaded> reload_of(config const& running, config const& read);

}  // namespace latchkey::server
