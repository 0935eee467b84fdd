// Hands to the store what keys were used for, as this worker saw it (API §4): in batches, never a
// write per request, and at a graceful stop all of it.
#pragma once

#include "base/clock.hpp"
#include "coro/task.hpp"

namespace latchkey::server {

class worker;

// So late is what others see of it, at most.
inline constexpr base::mono_ns key_uses_every_ns = 5'000'000'000;

// Until nothing is left to hand over, or the store refuses: then it is kept for the next time. On
// the worker's thread.
coro::task<> report_key_uses(worker* on);

}  // namespace latchkey::server
