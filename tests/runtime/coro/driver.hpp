// The root coroutine of a test, owned by the test, which can destroy it while it is suspended.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "runtime/coro/frame_pool.hpp"

namespace latchkey::coro {

class driver {
  public:
    struct promise_type : pooled_frame {
        driver get_return_object() noexcept {
            return driver(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_always final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() const noexcept { std::terminate(); }
    };

    driver(driver const&) = delete;
    driver& operator=(driver const&) = delete;
    ~driver() { destroy(); }

    void start() { frame_.resume(); }
    bool done() const { return frame_.done(); }
    void destroy() {
        if (frame_) std::exchange(frame_, nullptr).destroy();
    }

  private:
    explicit driver(std::coroutine_handle<promise_type> frame) : frame_(frame) {}

    std::coroutine_handle<promise_type> frame_;
};

}  // namespace latchkey::coro
