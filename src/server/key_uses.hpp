// Hands to the store when keys were last used, as this worker saw it (API §4: at most 60 s late on
// disk, never a write per request).
#pragma once

#include "base/clock.hpp"
#include "coro/task.hpp"

namespace latchkey::server {

class worker;

inline constexpr base::mono_ns key_uses_every_ns = 30'000'000'000;

// Until nothing is left to hand over; on the worker's thread.
coro::task<> report_key_uses(worker* on);

}  // namespace latchkey::server
