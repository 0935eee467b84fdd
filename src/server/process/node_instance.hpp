// Which copy of a node's data directory this is, for the line that the node has in the cluster's
// engine: random bytes in `node.instance`, beside the place where they were made or first used. A
// directory that was copied, or is part of a machine that was, finds itself at another place and
// gets bytes of its own: it waits for the lease of the first one to end like any other node of that
// name, and is refused if that one runs. So does a node after a restart of its machine that it had
// not left before.
//
// Any thread, before the sandbox; errors name the file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"

namespace latchkey::server {

// The machine since its start, and the directory in its file systems. Empty: not known, which is no
// other place.
std::string place_of(std::string const& directory);

base::result<replicate::protocol::identity> node_instance(std::string const& directory,
                                                          std::string_view place);

}  // namespace latchkey::server
