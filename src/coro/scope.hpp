// Whoever starts it waits for it: the coroutines that somebody started and must see the end of.
//
//     coro::scope connections;
//     connections.spawn(serve, std::move(socket), settings);   // runs until it first waits
//     co_await connections.join();
//
// One thread. The owner keeps the scope where it is until `join` has returned; a scope that is
// destroyed while something of it runs is a failed check.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/check.hpp"
#include "coro/frame_pool.hpp"
#include "coro/task.hpp"

namespace latchkey::coro {

class scope {
  public:
    scope() = default;
    ~scope() { base::check(size_ == 0, "a scope destroyed before all it started had ended"); }
    scope(scope const&) = delete;
    scope& operator=(scope const&) = delete;

    // Calls `function(values…)`, which must give a task<>, and runs it until it first waits.
    // Function and values are decayed copies that live in the spawned frame until the task has
    // ended, passed on as rvalues: the task may take them by value or by reference to const. What
    // is meant to be shared is passed as a pointer.
    template <class Function, class... Values>
    void spawn(Function&& function, Values&&... values) {
        ++size_;
        run<std::decay_t<Function>, std::decay_t<Values>...>(this, std::forward<Function>(function),
                                                             std::forward<Values>(values)...);
    }

    // How many have not ended. One has ended when its frame, with all values, is gone.
    std::size_t size() const noexcept { return size_; }

    // Waits until nothing runs, also what is spawned in the meantime. One waiter at a time; it is
    // resumed by the last one's end.
    class joining;
    [[nodiscard]] joining join() noexcept;

  private:
    // The outermost frame of each: nobody holds it, it frees itself.
    struct spawned {
        struct promise_type;
    };
    struct free_and_tell;

    template <class Function, class... Values>
    static spawned run(scope* /*owner*/, Function function, Values... values) {
        static_assert(std::same_as<decltype(std::move(function)(std::move(values)...)), task<>>,
                      "a scope runs tasks without a result");
        co_await std::move(function)(std::move(values)...);
    }

    // Counts one down; gives who is to go on.
    std::coroutine_handle<> ended() noexcept {
        if (--size_ == 0 && joiner_) return std::exchange(joiner_, nullptr);
        return std::noop_coroutine();
    }

    std::size_t size_ = 0;
    std::coroutine_handle<> joiner_;
};

// The frame goes first, so that whoever joins finds everything of it destroyed.
struct scope::free_and_tell {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
        scope& owner = *ended.promise().owner;
        ended.destroy();  // this awaiter with it
        return owner.ended();
    }
    void await_resume() const noexcept {}
};

struct scope::spawned::promise_type : pooled_frame {
    template <class... Arguments>
    explicit promise_type(scope* of, Arguments&&... /*held by the frame*/) noexcept : owner(of) {}

    spawned get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    free_and_tell final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { fail_unhandled_exception(); }

    scope* owner;
};

class scope::joining {
  public:
    explicit joining(scope& of) noexcept : of_(of) {}
    joining(joining const&) = delete;
    joining& operator=(joining const&) = delete;
    // A waiter that is destroyed while it waits is forgotten.
    ~joining() {
        if (waiting_ && of_.joiner_ == waiting_) of_.joiner_ = nullptr;
    }

    bool await_ready() const noexcept { return of_.size_ == 0; }
    void await_suspend(std::coroutine_handle<> waiter) noexcept {
        base::check(!of_.joiner_, "a scope joined twice at once");
        of_.joiner_ = waiting_ = waiter;
    }
    void await_resume() noexcept { waiting_ = nullptr; }

  private:
    scope& of_;
    std::coroutine_handle<> waiting_;
};

inline scope::joining scope::join() noexcept {
    return joining(*this);
}

}  // namespace latchkey::coro
