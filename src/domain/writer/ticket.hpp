// A command on its way to the writer: intrusive, so that submitting allocates nothing. Owned by the
// submitter, in its coroutine frame, until `executor` has resumed it.
#pragma once

#include "domain/command.hpp"
#include "runtime/coro/executor.hpp"

namespace latchkey::domain {

struct ticket : coro::resumption {
    domain::command command;
    domain::outcome outcome;
    coro::executor* executor = nullptr;  // posts the ticket when it is answered
    ticket* next = nullptr;              // in the writer's queue
};

}  // namespace latchkey::domain
