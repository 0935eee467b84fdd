// Submits commands to the writer from a thread without coroutines, one at a time; the outcome wakes
// that thread through an eventfd. Belongs to the thread; destroyed only when nothing is submitted.
#pragma once

#include <atomic>
#include <optional>

#include "store/writer.hpp"

namespace latchkey::server {

class command_port final : public coro::executor {
  public:
    // `event`: an eventfd, which outlives it.
    command_port(store::writer& writer, int event) : writer_(writer), event_(event) {}
    ~command_port();
    command_port(command_port const&) = delete;
    command_port& operator=(command_port const&) = delete;

    bool is_busy() const { return ticket_.has_value(); }
    // The writer may refuse it: then that is the outcome.
    void submit(store::command&& command);
    // Once per command.
    std::optional<store::outcome> take();

  private:
    void post(coro::resumption& node) noexcept override;

    store::writer& writer_;
    int event_;
    std::optional<store::ticket> ticket_;
    std::atomic<bool> is_done_{false};
};

}  // namespace latchkey::server
