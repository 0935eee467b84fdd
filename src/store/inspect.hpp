// Looks at a store that may be damaged, in a process of its own: LMDB maps the file, so reading one
// that was cut short or scribbled over can end whoever reads it. For `latchkey check` and for what
// is restored.
//
// Call it where this process has one thread and has not opened the directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace latchkey::store {

struct inspected {
    std::uint64_t users = 0, posts = 0, keys = 0, audit_entries = 0;
    std::vector<std::string> wrong;  // as of verify() and verify_audit()
};

// An error: it could not be opened, or reading it ended the process that did.
base::result<inspected> inspect(std::string const& directory);

}  // namespace latchkey::store
