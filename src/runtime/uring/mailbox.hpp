// Messages from other threads to a worker: a lock-free intrusive stack of coroutines to resume
// (Treiber, "Systems programming: coping with parallelism", 1986), taken whole once a turn. The
// data travels in the nodes. A worker that sleeps in `enter` is woken by MSG_RING from a thread
// with a ring and through an eventfd from one without; a running worker polls and is not woken.
//
//     any thread:   mailbox.post(node);
//     the owner:    for (auto* node = mailbox.take(); node; …)   oldest first
//                   ring.enter(mailbox.may_sleep(), deadline); mailbox.awake();
#pragma once

#include <atomic>
#include <memory>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "runtime/coro/executor.hpp"
#include "runtime/uring/ring.hpp"

namespace latchkey::uring {

class mailbox final : public coro::executor {
  public:
    // `owner` must outlive it; created and destroyed on the ring's thread.
    static base::result<std::unique_ptr<mailbox>> make(ring& owner);
    mailbox(mailbox const&) = delete;
    mailbox& operator=(mailbox const&) = delete;

    void post(coro::resumption& node) noexcept override;

    // Everything posted so far, oldest first, linked by `next`; read `next` before resuming.
    coro::resumption* take();
    // Announces that the owner is about to block; false when a message is waiting.
    bool may_sleep();
    void awake() { sleeping_.store(false, std::memory_order_relaxed); }

    // Cancels the eventfd read; `idle()` once the kernel holds nothing of this object.
    void close();
    bool idle() const { return !event_read_.active; }

  private:
    explicit mailbox(ring& owner) : ring_(owner) {}
    void arm();
    void wake() noexcept;

    struct wake_up : operation {
        mailbox* owner = nullptr;
    };

    ring& ring_;
    base::descriptor event_;   // an eventfd
    std::uint64_t count_ = 0;  // where the kernel puts the eventfd's counter
    bool closing_ = false;
    wake_up event_read_;    // from threads without a ring
    wake_up ring_message_;  // from threads with one
    alignas(64) std::atomic<coro::resumption*> newest_{nullptr};
    std::atomic<bool> sleeping_{false};
};

}  // namespace latchkey::uring
