#include "domain/writer/ticket_queue.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/limits.hpp"

namespace latchkey::domain {
namespace {

ticket_queue::batch reversed(ticket* newest) {
    ticket_queue::batch whole{nullptr, newest};
    while (newest != nullptr) {
        auto* const next = newest->next;
        newest->next = whole.oldest;
        whole.oldest = newest;
        newest = next;
    }
    return whole;
}

}  // namespace

bool ticket_queue::push(ticket& entry) {
    auto const bytes = entry.command.bytes();
    bool const fits =
        commands_.fetch_add(1) < base::limits::commands_queued_max &&
        bytes_.load(std::memory_order_relaxed) + bytes <= base::limits::command_bytes_queued_max;
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    auto* top = newest_.load();
    do {
        if (!fits || top == closed_mark()) {
            release(1, bytes);
            return false;
        }
        entry.next = top;
    } while (!newest_.compare_exchange_weak(top, &entry));
    wake();
    return true;
}

ticket_queue::batch ticket_queue::take() {
    if (newest_.load() == nullptr) return {};
    return reversed(newest_.exchange(nullptr));
}

ticket_queue::batch ticket_queue::close() {
    return reversed(newest_.exchange(closed_mark()));
}

void ticket_queue::release(std::size_t commands, std::size_t bytes) {
    commands_.fetch_sub(commands, std::memory_order_relaxed);
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

bool ticket_queue::sleep(std::atomic<bool> const& stopping, base::mono_ns patience) {
    timespec const duration{.tv_sec = patience / base::second, .tv_nsec = patience % base::second};
    bool late = false;
    asleep_.store(1);
    if (newest_.load() == nullptr && !stopping.load() && !notified_.load())
        late = ::syscall(SYS_futex, &asleep_, FUTEX_WAIT_PRIVATE, 1, &duration, nullptr, 0) != 0 &&
               errno == ETIMEDOUT;
    asleep_.store(0);
    notified_.store(false);
    return late;
}

void ticket_queue::notify() {
    notified_.store(true);
    wake();
}

void ticket_queue::wake() {
    if (asleep_.load() == 1 && asleep_.exchange(0) == 1)
        ::syscall(SYS_futex, &asleep_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace latchkey::domain
