#include "server/process/cores.hpp"

#include <sched.h>

#include <algorithm>

namespace latchkey::server {

unsigned usable_cores() {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
    return static_cast<unsigned>(std::max(CPU_COUNT(&cores), 1));
}

std::optional<int> core_of(unsigned worker) {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) return std::nullopt;
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &cores) && worker-- == 0) return core;
    return std::nullopt;
}

}  // namespace latchkey::server
