// The first key of a store, made where nobody can run a command (keys.first_key_file): a container
// or a machine that is set up by a script.
#pragma once

#include "base/result.hpp"
#include "server/process/config.hpp"
#include "store/environment.hpp"

namespace latchkey::server {

// Where the setting names a file and the store has no key, deactivated ones included: the text in
// the file becomes a key with all scopes; without that file a new key is made, and written to it
// (0600) before it is stored. Before the service has a writer, and not on a node of a cluster. The
// error names the file, never its text.
base::result<void> make_first_key(store::environment& store, config const& configuration);

}  // namespace latchkey::server
