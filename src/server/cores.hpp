// Which cores the process may run on (its affinity mask: taskset, a container's cpuset), and which
// worker gets which.
#pragma once

#include <optional>

namespace latchkey::server {

// At least one.
unsigned usable_cores();

// Each worker has a core of its own, in the order of their numbers; those beyond have none.
std::optional<int> core_of(unsigned worker);

}  // namespace latchkey::server
