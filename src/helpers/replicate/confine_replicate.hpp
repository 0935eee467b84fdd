// What the helper gives up once it has its settings: it talks to an engine that may be taken over,
// through libraries that parse what that sends. It keeps what libpq needs, outgoing connections and
// reading the files of TLS and passwords; it may start nothing, write no file, listen nowhere, map
// no executable memory that is not a file, and read nothing of the data directory (Landlock).
//
//     confine(settings_of_the_connection) → then the lanes start
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "helpers/replicate/conninfo.hpp"

namespace latchkey::replicate {

// For the rest of the process, which has a single thread. An error: the kernel refuses the filter.
// Where it has no Landlock, files stay open to the rights of the user. Builds with a sanitizer,
// whose run time does more than the program, are left as they are.
base::result<void> confine(std::vector<conninfo::setting> const& settings);

}  // namespace latchkey::replicate
