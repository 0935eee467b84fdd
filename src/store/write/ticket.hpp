// A command on its way to the writer: intrusive, so that submitting allocates nothing. Owned by the
// submitter, in its coroutine frame, until `executor` has resumed it.
#pragma once

#include "coro/executor.hpp"
#include "store/command.hpp"

namespace latchkey::store {

struct ticket : coro::resumption {
    store::command command;
    store::outcome outcome;
    coro::executor* executor = nullptr;  // posts the ticket when it is answered
    ticket* next = nullptr;              // in the writer's queue
};

}  // namespace latchkey::store
