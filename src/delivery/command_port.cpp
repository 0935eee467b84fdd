#include "delivery/command_port.hpp"

#include <unistd.h>

#include <utility>

#include "base/check.hpp"

namespace latchkey::delivery {

command_port::~command_port() {
    base::check(!ticket_ || is_done_.load(std::memory_order_acquire),
                "a command port ends before its command");
}

void command_port::submit(domain::command&& command) {
    base::check(!ticket_, "a command port has one command at a time");
    is_done_.store(false, std::memory_order_relaxed);
    ticket_.emplace();
    ticket_->command = std::move(command);
    ticket_->executor = this;
    if (writer_.submit(*ticket_)) return;
    ticket_->outcome.problem = writer_.refusal();
    is_done_.store(true, std::memory_order_relaxed);
}

std::optional<domain::outcome> command_port::take() {
    if (!ticket_ || !is_done_.load(std::memory_order_acquire)) return std::nullopt;
    auto outcome = std::move(ticket_->outcome);
    ticket_.reset();
    return outcome;
}

// On the writer's thread. The descriptor is read before: this object may be gone after the store.
void command_port::post(coro::resumption&) noexcept {
    int const event = event_;
    is_done_.store(true, std::memory_order_release);
    std::uint64_t const one = 1;
    [[maybe_unused]] auto const ignored = ::write(event, &one, sizeof one);
}

}  // namespace latchkey::delivery
