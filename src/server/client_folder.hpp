// The folder with the client libraries that /docs/clients hands out (docs/api.md §13). For the main
// thread.
#pragma once

#include <string>
#include <vector>

#include "api/docs/client_packages.hpp"

namespace latchkey::server {

// The packages of this version that are in the folder, whole. What cannot be read is left out, with
// a warning in the log. Nothing else of the folder is opened, whatever a client asks for.
std::vector<api::client_package> read_client_folder(std::string const& folder);

}  // namespace latchkey::server
