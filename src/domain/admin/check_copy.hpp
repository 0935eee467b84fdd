// Verifies the file of a backup from end to end, without LMDB, so that nothing in it can end the
// process. Pages and checksums only; `inspect` checks the meaning as well.
#pragma once

#include <string>
#include <vector>

namespace latchkey::domain {

// A sentence for each fault; none: the copy is sound. The descriptor must be open for reading.
std::vector<std::string> check_copy(int descriptor);

}  // namespace latchkey::domain
