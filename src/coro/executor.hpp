// Where a suspended coroutine is to go on. The node is part of the awaiter, so posting allocates
// nothing; it must live until its handle was resumed. `post` may be called from any thread, and
// `resume` happens on the executor's own.
#pragma once

#include <atomic>
#include <coroutine>

namespace latchkey::coro {

struct resumption {
    std::atomic<resumption*> next{nullptr};
    std::coroutine_handle<> handle;
    // Set where no coroutine waits but something is to be done on the executor's thread.
    void (*run)(resumption& self) = nullptr;

    // On the executor's thread; the node may be gone afterwards.
    void go_on() { run != nullptr ? run(*this) : handle.resume(); }
};

class executor {
  public:
    // Everything the poster wrote before is visible to the resumed coroutine.
    virtual void post(resumption& node) noexcept = 0;

  protected:
    ~executor() = default;
};

}  // namespace latchkey::coro
