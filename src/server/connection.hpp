// One client's connection: a coroutine whose life is one screen, `serve` in connection.cpp. It
// awaits input, a commit, or room for its answers, and nothing else.
#pragma once

#include "coro/task.hpp"
#include "server/transport.hpp"

namespace latchkey::server {

class worker;

// Runs on the worker's thread until nothing of the connection is left. To be spawned in its scope.
coro::task<> serve(worker* on, accepted socket);

}  // namespace latchkey::server
