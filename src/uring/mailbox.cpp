#include "uring/mailbox.hpp"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace latchkey::uring {

base::result<std::unique_ptr<mailbox>> mailbox::make(ring& owner) {
    std::unique_ptr<mailbox> made(new mailbox(owner));
    made->event_ = eventfd(0, EFD_CLOEXEC);
    if (made->event_ < 0) return base::errno_error("no descriptor for a mailbox", errno);
    made->by_event_.owner = made->by_ring_.owner = made.get();
    // Whatever the result was: without a read nothing wakes the owner ever again.
    made->by_event_.complete = [](operation& self, std::int32_t, std::uint32_t) {
        auto& box = *static_cast<wake_up&>(self).owner;
        box.armed_ = false;
        if (!box.closing_) box.arm();
    };
    made->by_ring_.complete = [](operation&, std::int32_t, std::uint32_t) {};
    made->arm();
    return made;
}

mailbox::~mailbox() {
    if (event_ >= 0) ::close(event_);
}

void mailbox::arm() {
    armed_ = true;
    io_uring_prep_read(ring_.submission(by_event_), event_, &count_, sizeof count_, 0);
}

void mailbox::close() {
    closing_ = true;
    if (armed_)
        io_uring_prep_cancel64(ring_.submission(), reinterpret_cast<std::uintptr_t>(&by_event_), 0);
}

void mailbox::post(coro::resumption& node) noexcept {
    auto* newest = newest_.load(std::memory_order_relaxed);
    do {
        node.next.store(newest, std::memory_order_relaxed);
    } while (!newest_.compare_exchange_weak(newest, &node, std::memory_order_release,
                                            std::memory_order_relaxed));
    // Either the owner sees the node when it looks again before it sleeps, or it is seen asleep
    // here.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_relaxed)) wake();
}

void mailbox::wake() noexcept {
    if (!sleeping_.exchange(false, std::memory_order_relaxed)) return;  // somebody else wakes it
    if (auto* const mine = ring::of_this_thread(); mine != nullptr && mine != &ring_) {
        mine->wake(ring_.fd(), by_ring_);
        return;
    }
    std::uint64_t const one = 1;
    // It fails only when the counter is full, and then the owner has a wake-up to read.
    [[maybe_unused]] auto const written = ::write(event_, &one, sizeof one);
}

coro::resumption* mailbox::take() {
    if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    auto* node = newest_.exchange(nullptr, std::memory_order_acquire);
    coro::resumption* oldest = nullptr;
    while (node != nullptr) {
        auto* const next = node->next.load(std::memory_order_relaxed);
        node->next.store(oldest, std::memory_order_relaxed);
        oldest = node;
        node = next;
    }
    return oldest;
}

bool mailbox::may_sleep() {
    sleeping_.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (newest_.load(std::memory_order_relaxed) == nullptr) return true;
    sleeping_.store(false, std::memory_order_relaxed);
    return false;
}

}  // namespace latchkey::uring
