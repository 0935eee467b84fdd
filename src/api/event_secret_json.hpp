// The secret of a source of events as JSON (API §12), for HTTP and for the command line.
#pragma once

#include <string>

#include "store/command.hpp"
#include "store/event_secret.hpp"

namespace latchkey::api {

// As it was set: `secret` is shown where it was made here, null where it was supplied. Growing `to`
// would leave a copy behind, so it reserves what it needs first.
void append_kept_secret(std::string& to, store::kept_secret const& kept);
// As it is: no secret.
void append_event_secrets(std::string& to, std::string_view source,
                          store::event_secrets const& secrets);

}  // namespace latchkey::api
