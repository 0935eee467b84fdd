#include "store/ticket_queue.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.hpp"

namespace latchkey::store {
namespace {

ticket_queue::line turned_round(ticket* newest) {
    ticket_queue::line whole{nullptr, newest};
    while (newest != nullptr) {
        auto* const next = newest->behind;
        newest->behind = whole.oldest;
        whole.oldest = newest;
        newest = next;
    }
    return whole;
}

}  // namespace

bool ticket_queue::push(ticket& waiting) {
    auto const bytes = waiting.command.bytes();
    bool const fits =
        commands_.fetch_add(1) < base::limits::commands_queued_max &&
        bytes_.load(std::memory_order_relaxed) + bytes <= base::limits::command_bytes_queued_max;
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    auto* top = newest_.load();
    do {
        if (!fits || top == closed_mark()) {
            forget(1, bytes);
            return false;
        }
        waiting.behind = top;
    } while (!newest_.compare_exchange_weak(top, &waiting));
    wake();
    return true;
}

ticket_queue::line ticket_queue::take() {
    if (newest_.load() == nullptr) return {};
    return turned_round(newest_.exchange(nullptr));
}

ticket_queue::line ticket_queue::take_and_close() {
    return turned_round(newest_.exchange(closed_mark()));
}

void ticket_queue::forget(std::size_t commands, std::size_t bytes) {
    commands_.fetch_sub(commands, std::memory_order_relaxed);
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

void ticket_queue::sleep(std::atomic<bool> const& unless) {
    asleep_.store(1);
    timespec const longest{60, 0};
    if (newest_.load() == nullptr && !unless.load())
        ::syscall(SYS_futex, &asleep_, FUTEX_WAIT_PRIVATE, 1, &longest, nullptr, 0);
    asleep_.store(0);
}

void ticket_queue::wake() {
    if (asleep_.load() == 1 && asleep_.exchange(0) == 1)
        ::syscall(SYS_futex, &asleep_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace latchkey::store
