// One client's connection: a coroutine that drives a session (session/http1.hpp) over a transport.
// It carries out each step of the session: awaits input, a commit, room in the output or a time,
// and appends responses. It knows nothing of HTTP.
#pragma once

#include "coro/task.hpp"
#include "server/net/transport.hpp"

namespace latchkey::server {

// Runs on the worker's thread until nothing of the connection is left. To be spawned in its scope.
coro::task<> serve(worker_context* context, accepted socket);

}  // namespace latchkey::server
