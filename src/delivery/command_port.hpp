// Submits commands to the writer from a thread without coroutines, one at a time; the outcome wakes
// that thread through an eventfd. Belongs to the thread; destroyed only when nothing is submitted.
#pragma once

#include <atomic>
#include <optional>

#include "domain/writer.hpp"

namespace latchkey::delivery {

class command_port final : public coro::executor {
  public:
    // `event`: an eventfd, which outlives it.
    command_port(domain::writer& writer, int event) : writer_(writer), event_(event) {}
    ~command_port();
    command_port(command_port const&) = delete;
    command_port& operator=(command_port const&) = delete;

    bool is_busy() const { return ticket_.has_value(); }
    // The writer may refuse it: then that is the outcome.
    void submit(domain::command&& command);
    // Once per command.
    std::optional<domain::outcome> take();

  private:
    void post(coro::resumption& node) noexcept override;

    domain::writer& writer_;
    int event_;
    std::optional<domain::ticket> ticket_;
    std::atomic<bool> is_done_{false};
};

}  // namespace latchkey::delivery
