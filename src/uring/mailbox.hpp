// How other threads reach a worker: an intrusive stack of coroutines to resume (Treiber, "Systems
// programming: coping with parallelism", 1986), taken whole once a turn. The data travels in the
// nodes. A worker that sleeps in `enter` is woken by MSG_RING from a thread with a ring of its own
// and through an eventfd from one without; a worker that runs is not woken, it looks anyway.
//
//     any thread:   mailbox.post(node);
//     its owner:    for (auto* mail = mailbox.take(); mail; …)   oldest first
//                   ring.enter(mailbox.may_sleep(), until); mailbox.awake();
#pragma once

#include <atomic>
#include <memory>

#include "base/result.hpp"
#include "coro/executor.hpp"
#include "uring/ring.hpp"

namespace latchkey::uring {

class mailbox final : public coro::executor {
  public:
    // `owner` must outlive it; make and destroy it on the ring's thread.
    static base::result<std::unique_ptr<mailbox>> make(ring& owner);
    ~mailbox();
    mailbox(mailbox const&) = delete;
    mailbox& operator=(mailbox const&) = delete;

    void post(coro::resumption& node) noexcept override;

    // Everything posted so far, oldest first, linked by `next`; read `next` before resuming.
    coro::resumption* take();
    // Announces that the owner is about to block; false when mail is there already.
    bool may_sleep();
    void awake() { sleeping_.store(false, std::memory_order_relaxed); }

    // Ends the waiting for wake-ups; `idle()` once the kernel holds nothing of this object.
    void close();
    bool idle() const { return !armed_; }

  private:
    explicit mailbox(ring& owner) : ring_(owner) {}
    void arm();
    void wake() noexcept;

    struct wake_up : operation {
        mailbox* owner = nullptr;
    };

    ring& ring_;
    int event_ = -1;
    std::uint64_t count_ = 0;  // where the kernel puts the eventfd's counter
    bool armed_ = false;
    bool closing_ = false;
    wake_up by_event_;
    wake_up by_ring_;
    alignas(64) std::atomic<coro::resumption*> newest_{nullptr};
    std::atomic<bool> sleeping_{false};
};

}  // namespace latchkey::uring
