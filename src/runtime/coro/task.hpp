// A lazy coroutine that its caller awaits immediately and once:
//
//     coro::task<int> answer(connection* client);
//     int const status = co_await answer(this);
//
// Nothing runs before the co_await, so every temporary of the call outlives the task. A task is
// immovable (the returned object is the awaited one, by guaranteed elision), and co_await takes an
// rvalue only. The caller resumes by symmetric transfer, so a loop over ready tasks uses no stack.
// A task belongs to one thread at a time and is started by a coroutine or by `scope::spawn`.
// Destroying a suspended task destroys what it awaits.
//
// An exception that leaves the body ends the process: failures are values (base::result). Clang
// checks the rest: a function that returns a task and is no coroutine needs
// [[clang::coro_wrapper]], and a task kept beyond its temporaries causes a warning.
#pragma once

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include "runtime/coro/frame_pool.hpp"

namespace latchkey::coro {

template <class T = void>
class task;

// Prints the current exception and ends the process; only inside a catch clause or
// `unhandled_exception`.
[[noreturn]] void fail_unhandled_exception() noexcept;

namespace detail {

// The part that all promises share: the caller that resumes when the body has ended.
struct task_promise_base : pooled_frame {
    struct resume_caller {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> frame) const noexcept {
            return frame.promise().caller;
        }
        void await_resume() const noexcept {}
    };

    std::suspend_always initial_suspend() const noexcept { return {}; }
    resume_caller final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept { fail_unhandled_exception(); }

    std::coroutine_handle<> caller;
};

template <class T>
struct task_promise : task_promise_base {
    static_assert(std::is_object_v<T>, "a task returns a value or nothing, never a reference");

    task<T> get_return_object() noexcept;
    template <class Value = T>
        requires std::is_constructible_v<T, Value>
    void return_value(Value&& value) {
        result.emplace(std::forward<Value>(value));
    }
    T take() { return *std::move(result); }  // NOLINT: set, since the body has ended

    std::optional<T> result;
};

template <>
struct task_promise<void> : task_promise_base {
    inline task<void> get_return_object() noexcept;
    void return_void() const noexcept {}
    void take() const noexcept {}
};

}  // namespace detail

template <class T>
class [[nodiscard, clang::coro_return_type, clang::coro_lifetimebound]] task {
  public:
    using promise_type = detail::task_promise<T>;

    task(task const&) = delete;
    task& operator=(task const&) = delete;
    ~task() { frame_.destroy(); }

    auto operator co_await() && noexcept {
        struct awaiter {
            std::coroutine_handle<promise_type> frame;

            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
                frame.promise().caller = caller;
                return frame;
            }
            T await_resume() { return frame.promise().take(); }
        };
        return awaiter{frame_};
    }

  private:
    friend promise_type;
    explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

    std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
    return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}

inline task<void> task_promise<void>::get_return_object() noexcept {
    return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

}  // namespace detail

}  // namespace latchkey::coro
