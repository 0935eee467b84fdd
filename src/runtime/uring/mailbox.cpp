#include "runtime/uring/mailbox.hpp"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/uring/socket.hpp"

namespace latchkey::uring {

base::result<std::unique_ptr<mailbox>> mailbox::make(ring& owner) {
    std::unique_ptr<mailbox> box(new mailbox(owner));
    box->event_ = base::descriptor(eventfd(0, EFD_CLOEXEC));
    if (!box->event_.is_open()) return base::errno_error("no descriptor for a mailbox", errno);
    box->event_read_.owner = box->ring_message_.owner = box.get();
    // Read again whatever the result: without a pending read nothing can wake the owner.
    box->event_read_.complete = [](operation& self, completion const&) {
        auto& owner = *static_cast<wake_up&>(self).owner;
        if (!owner.closing_) owner.arm();
    };
    box->ring_message_.complete = [](operation&, completion const&) {};
    box->arm();
    return box;
}

void mailbox::arm() {
    io_uring_prep_read(ring_.submission(event_read_), event_.get(), &count_, sizeof count_, 0);
}

void mailbox::close() {
    closing_ = true;
    if (event_read_.active) cancel(ring_, event_read_);
}

void mailbox::post(coro::resumption& node) noexcept {
    auto* newest = newest_.load(std::memory_order_relaxed);
    do {
        node.next.store(newest, std::memory_order_relaxed);
    } while (!newest_.compare_exchange_weak(newest, &node, std::memory_order_release,
                                            std::memory_order_relaxed));
    // Store-load fence on both sides: either the owner sees the node before it sleeps, or
    // `sleeping_` is seen here (Dekker).
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_relaxed)) wake();
}

void mailbox::wake() noexcept {
    if (!sleeping_.exchange(false, std::memory_order_relaxed)) return;  // another thread wakes it
    if (auto* const own = ring::of_this_thread(); own != nullptr && own != &ring_) {
        own->wake(ring_.fd(), ring_message_);
        return;
    }
    std::uint64_t const one = 1;
    // Fails only when the counter is full, and then a wake-up is pending.
    [[maybe_unused]] auto const result = ::write(event_.get(), &one, sizeof one);
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
