// How a handshake learns that its signature is ready.
#pragma once

namespace latchkey::tls {

// `wake` is called on the signing thread, at most once, when a handshake that returned `waiting`
// can continue; it must pass that on to the session's thread. It must not block and must not touch
// the session, whose thread may be waiting for it to return. The object must live until it was
// woken or its signature was cancelled.
struct signature_waiter {
    void (*wake)(signature_waiter&) noexcept;
};

}  // namespace latchkey::tls
