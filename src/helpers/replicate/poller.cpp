#include "helpers/replicate/poller.hpp"

#include <algorithm>

#include "base/system/poll_until.hpp"
#include "base/time_units.hpp"

namespace latchkey::replicate {

poller::waiter poller::until(interest interest) {
    return {*this, interest};
}

poller::waiter poller::sleep(base::mono_ns duration) {
    return {*this, {.deadline = base::read_mono() + duration}};
}

poller::waiter::~waiter() {
    std::erase(owner_.waiters_, this);
}

void poller::waiter::await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    owner_.waiters_.push_back(this);
}

bool poller::waiter::is_due(base::mono_ns now, short events) {
    if (interest_.news != nullptr && interest_.news->is_set()) {
        interest_.news->clear();
        cause_ = wake_cause::news;
    } else if (events != 0) {
        cause_ = wake_cause::ready;
    } else if (now >= interest_.deadline) {
        cause_ = wake_cause::late;
    } else {
        return false;
    }
    return true;
}

void poller::turn() {
    std::vector<pollfd> polled;
    base::mono_ns deadline = never;
    for (auto const* each : waiters_) {
        auto const& interest = each->interest_;
        polled.push_back({.fd = interest.descriptor, .events = interest.events, .revents = 0});
        deadline = std::min(deadline, interest.deadline);
        if (interest.news != nullptr && interest.news->is_set()) deadline = 0;
    }
    base::poll_until(polled, std::min(deadline, base::read_mono() + base::second));

    auto const now = base::read_mono();
    std::vector<waiter*> due;
    for (std::size_t i = 0; i < polled.size(); ++i)
        if (waiters_[i]->is_due(now, polled[i].revents)) due.push_back(waiters_[i]);
    for (auto* each : due) std::erase(waiters_, each);
    for (auto* each : due) each->handle_.resume();
}

}  // namespace latchkey::replicate
