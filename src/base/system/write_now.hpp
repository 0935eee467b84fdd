// Output without waiting for whoever reads it: a service ends, reloads and answers though nobody
// empties a full pipe. Any thread.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace latchkey::base {

// write(2) of what a pipe, a socket or a terminal takes at once, without O_NONBLOCK, which would
// hold for each process that shares it; -1 with EAGAIN: nothing. In signal handlers too.
ssize_t write_now(int number, std::string_view bytes);

// From now on a message (log.hpp) that standard error does not take at once is lost, and counted
// before the next one that it takes.
void drop_unread_messages();

}  // namespace latchkey::base
