// The socket operations of a server: each fills one SQE of the ring. `op.complete` is called with
// the result; a multishot operation completes until a completion has no more.
// Descriptors stay the caller's. On the ring's thread.
#pragma once

#include <string_view>

#include "runtime/uring/ring.hpp"

namespace latchkey::uring {

// Accepts one connection, or with `accept_multishot` all that come; results are descriptors with
// CLOEXEC set.
void accept(ring& owner, operation& op, int listener);
void accept_multishot(ring& owner, operation& op, int listener);

// Receives into provided buffers (buffers.hpp) until the end of input, an error or a cancel.
void receive_multishot(ring& owner, operation& op, int fd);

// Sends all of `bytes`, which must live until the completion: the result is short only where the
// connection broke or the operation was cancelled (MSG_WAITALL).
void send(ring& owner, operation& op, int fd, std::string_view bytes);

// Closing does not end operations that are armed on the descriptor: cancel those too.
void close(ring& owner, operation& op, int fd);
// The same without a completion.
void close(ring& owner, int fd);

// Requests cancellation; `target` still completes, with -ECANCELED or its own result.
void cancel(ring& owner, operation& target);

}  // namespace latchkey::uring
