#include "server/net/token_waiters.hpp"

#include <utility>

namespace latchkey::server {

token_waiters::token_waiters() {
    message_.owner = timer_.owner = this;
    message_.run = [](coro::resumption& self) { static_cast<message&>(self).owner->resume_all(); };
    timer_.fire = [](uring::timers::entry& self, base::mono_ns) {
        auto& expired = static_cast<timer&>(self);
        expired.owner->post(*expired.worker);
    };
}

// Sequentially consistent with `await_suspend`: either the waiter is seen here, or this news there.
void token_waiters::tell(coro::executor& worker) noexcept {
    news_.fetch_add(1);
    if (has_waiters_.load()) post(worker);
}

void token_waiters::post(coro::executor& worker) noexcept {
    if (!is_posted_.exchange(true)) worker.post(message_);
}

void token_waiters::wait::await_suspend(std::coroutine_handle<> handle) noexcept {
    handle_ = handle;
    if (waiters_.first_ == nullptr) {
        waiters_.timer_.worker = &worker_;
        timers_.arm(waiters_.timer_, now_ + interval);
    }
    *waiters_.end_ = this;
    waiters_.end_ = &next_;
    waiters_.has_waiters_.store(true);
    if (waiters_.news_.load() != waiters_.known_news_) waiters_.post(worker_);
}

// Whoever waits again is in the next list, with a timer of its own.
void token_waiters::resume_all() {
    is_posted_.store(false);
    begin_turn();
    auto* each = std::exchange(first_, nullptr);
    end_ = &first_;
    while (each != nullptr) {
        auto* const next = each->next_;
        each->handle_.resume();  // `each` may be gone
        each = next;
    }
    if (first_ == nullptr) has_waiters_.store(false);
}

}  // namespace latchkey::server
