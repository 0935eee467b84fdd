#include "server/net/event_waiters.hpp"

namespace latchkey::server {

void event_waiters::enter(entry& waiter) {
    if (waiter.link_ != nullptr) return;
    waiter.next_ = first_;
    waiter.link_ = &first_;
    if (first_ != nullptr) first_->link_ = &waiter.next_;
    first_ = &waiter;
    ++count_;
}

void event_waiters::leave(entry& waiter) {
    if (waiter.link_ == nullptr) return;
    *waiter.link_ = waiter.next_;
    if (waiter.next_ != nullptr) waiter.next_->link_ = waiter.link_;
    waiter.link_ = nullptr;
    --count_;
}

void event_waiters::turn(domain::snapshot const& snapshot, bool ends, base::mono_ns now) {
    if (first_ == nullptr) return;
    if (now >= next_look_) next_look_ = now + interval;
    if (ends != known_ends_) {
        known_ends_ = ends;
        return wake_all();
    }
    if (snapshot.version() == known_version_ || now < next_wake_) return;
    known_version_ = snapshot.version();
    next_wake_ = now + pause();
    wake_all();
}

void event_waiters::wake_all() {
    for (auto* waiter = first_; waiter != nullptr; waiter = waiter->next_) waiter->wake(*waiter);
}

}  // namespace latchkey::server
