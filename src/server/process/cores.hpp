// The cores that the process may run on (its affinity mask: taskset, a container's cpuset), and
// their assignment to workers. Any thread; reads the mask of the calling one.
#pragma once

#include <optional>

namespace latchkey::server {

// At least one.
unsigned usable_cores();

// Worker i gets the i-th usable core; workers beyond the number of cores get none.
std::optional<int> core_of(unsigned worker);

}  // namespace latchkey::server
