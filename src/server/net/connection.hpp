// One client's connection: a coroutine that drives a session over a transport. It finds out which
// protocol is spoken, and then carries out each step of its session: awaits input, events, a
// commit, room in the output or a time, and appends responses. What the bytes mean is the session's
// business (session/step.hpp).
#pragma once

#include "runtime/coro/task.hpp"
#include "server/net/transport.hpp"

namespace latchkey::server {

// Runs on the worker's thread until nothing of the connection is left. To be spawned in its scope.
coro::task<> serve(worker_context* context, accepted socket);

}  // namespace latchkey::server
