// Structured concurrency: a scope owns the coroutines started in it and must outlive them.
//
//     coro::scope connections;
//     connections.spawn(serve, std::move(socket), settings);   // runs until it first suspends
//     while (connections.size() != 0) turn();
//
// One thread. A scope is not moved while something runs in it; destroying it then fails a check.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/check.hpp"
#include "runtime/coro/frame_pool.hpp"
#include "runtime/coro/task.hpp"

namespace latchkey::coro {

class scope {
  public:
    scope() = default;
    ~scope() { base::check(size_ == 0, "a scope destroyed before all it started had ended"); }
    scope(scope const&) = delete;
    scope& operator=(scope const&) = delete;

    // Calls `function(values…)`, which must return a task<>, and runs it until it first suspends.
    // Function and values are decayed copies in the spawned frame and live until the task ends;
    // the task takes them by value or by reference to const. Shared objects go as pointers.
    template <class Function, class... Values>
    void spawn(Function&& function, Values&&... values) {
        ++size_;
        run<std::decay_t<Function>, std::decay_t<Values>...>(this, std::forward<Function>(function),
                                                             std::forward<Values>(values)...);
    }

    // Until no task runs, also none that was spawned meanwhile. One waiter at a time, which the end
    // of the last task resumes.
    class join_awaiter;
    [[nodiscard]] join_awaiter join() noexcept;

    // Tasks that have not ended. A task has ended when its frame, with all values, is freed.
    std::size_t size() const noexcept { return size_; }

  private:
    // The outermost frame of each task: detached, frees itself.
    struct spawned {
        struct promise_type;
    };
    struct free_frame;

    template <class Function, class... Values>
    static spawned run(scope* /*owner*/, Function function, Values... values) {
        static_assert(std::same_as<decltype(std::move(function)(std::move(values)...)), task<>>,
                      "a scope runs tasks without a result");
        co_await std::move(function)(std::move(values)...);
    }

    // Counts a task down; what is to run next.
    std::coroutine_handle<> end_task() noexcept {
        if (--size_ == 0 && joiner_) return std::exchange(joiner_, nullptr);
        return std::noop_coroutine();
    }

    std::size_t size_ = 0;
    std::coroutine_handle<> joiner_;
};

// Frees the frame before it counts down, so that at size 0 everything is destroyed.
struct scope::free_frame {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> frame) const noexcept {
        scope& owner = *frame.promise().owner;
        frame.destroy();  // this awaiter with it
        return owner.end_task();
    }
    void await_resume() const noexcept {}
};

struct scope::spawned::promise_type : pooled_frame {
    template <class... Arguments>
    explicit promise_type(scope* scope, Arguments&&... /*held by the frame*/) noexcept
        : owner(scope) {}

    spawned get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    free_frame final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { fail_unhandled_exception(); }

    scope* owner;
};

class scope::join_awaiter {
  public:
    explicit join_awaiter(scope& tasks) noexcept : tasks_(tasks) {}
    join_awaiter(join_awaiter const&) = delete;
    join_awaiter& operator=(join_awaiter const&) = delete;
    // A waiter that is destroyed while it waits is not resumed.
    ~join_awaiter() {
        if (waiter_ && tasks_.joiner_ == waiter_) tasks_.joiner_ = nullptr;
    }

    bool await_ready() const noexcept { return tasks_.size_ == 0; }
    void await_suspend(std::coroutine_handle<> waiter) noexcept {
        base::check(!tasks_.joiner_, "a scope joined twice at once");
        tasks_.joiner_ = waiter_ = waiter;
    }
    void await_resume() noexcept { waiter_ = nullptr; }

  private:
    scope& tasks_;
    std::coroutine_handle<> waiter_;
};

inline scope::join_awaiter scope::join() noexcept {
    return join_awaiter(*this);
}

}  // namespace latchkey::coro
