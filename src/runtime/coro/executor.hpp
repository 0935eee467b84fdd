// An executor resumes suspended coroutines on its own thread. The posted node is part of the
// awaiter, so posting allocates nothing; it must live until its handle was resumed. `post` may be
// called from any thread.
#pragma once

#include <atomic>
#include <coroutine>

namespace latchkey::coro {

struct resumption {
    std::atomic<resumption*> next{nullptr};
    std::coroutine_handle<> handle;
    // Instead of a handle: a function to run on the executor's thread. A task posted to a worker
    // needs no coroutine.
    void (*run)(resumption& self) = nullptr;

    // On the executor's thread; the node may be gone afterwards.
    void resume() { run != nullptr ? run(*this) : handle.resume(); }
};

class executor {
  public:
    // Writes of the poster before the call are visible to the resumed coroutine (release, acquire).
    virtual void post(resumption& node) noexcept = 0;

  protected:
    ~executor() = default;
};

}  // namespace latchkey::coro
