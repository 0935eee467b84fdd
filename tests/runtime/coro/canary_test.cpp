// Compiler features that this program depends on. The same file is built at -O0, at -O2 and under
// AddressSanitizer; GCC 12 fails half of the tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "driver.hpp"
#include "event.hpp"
#include "runtime/coro/frame_pool.hpp"
#include "runtime/coro/task.hpp"
#include "runtime/coro/task_scope.hpp"

namespace {
std::size_t allocations = 0;
}  // namespace

// Counts allocations, to show that a request makes none.
void* operator new(std::size_t size) {
    ++allocations;
    if (void* const bytes = std::malloc(size)) return bytes;
    std::abort();
}
void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
    ++allocations;
    return std::malloc(size);
}
void operator delete(void* bytes) noexcept {
    std::free(bytes);
}
void operator delete(void* bytes, std::size_t) noexcept {
    std::free(bytes);
}

namespace latchkey::coro {
namespace {

// Counts constructions and destructions, and detects a second destruction.
class traced {
  public:
    static inline int constructed = 0, destroyed = 0, copied = 0, moved = 0;
    static void restart() { constructed = destroyed = copied = moved = 0; }
    static int alive() { return constructed - destroyed; }

    explicit traced(int initial_value = 0) : value(initial_value) { ++constructed; }
    traced(traced const& other) : value(other.value) {
        ++constructed;
        ++copied;
    }
    traced(traced&& other) noexcept : value(std::exchange(other.value, -1)) {
        ++constructed;
        ++moved;
    }
    traced& operator=(traced const&) = delete;
    ~traced() {
        EXPECT_EQ(self_, this) << "destroyed twice, or moved by its bytes";
        self_ = nullptr;
        ++destroyed;
    }

    int value;

  private:
    traced* self_ = this;
};

struct parts {
    traced one;
    std::string text;
    std::unique_ptr<int> number;
};

// Suspends the functions below between two uses of their arguments.
event gate;

// NOLINTBEGIN: references and capturing coroutines, forbidden by the style, tested here
task<int> by_reference(traced const& argument) {
    co_await gate;
    co_return argument.value;
}
task<int> by_value(traced argument) {
    co_await gate;
    co_return argument.value;
}
task<int> sum_of_parts(parts argument) {
    co_await gate;
    co_return argument.one.value + static_cast<int>(argument.text.size()) + *argument.number;
}
task<int> sum_of_parts_reference(parts const& argument) {
    co_await gate;
    co_return argument.one.value + static_cast<int>(argument.text.size()) + *argument.number;
}
task<int> sum(std::initializer_list<traced> values) {
    co_await gate;
    int total = 0;
    for (auto const& each : values) total += each.value;
    co_return total;
}
// NOLINTEND
task<std::size_t> count_x(std::string_view text) {
    co_await gate;
    co_return static_cast<std::size_t>(std::count(text.begin(), text.end(), 'x'));
}
task<int> unboxed(std::unique_ptr<traced> box) {
    co_await gate;
    co_return box->value;
}
template <class Function>
task<int> called(Function function) {
    co_await gate;
    co_return function();
}
template <class Function>
task<int> awaited(Function function) {
    int const result = co_await function();
    co_return result;
}
task<traced> make_traced(int value) {
    co_await gate;
    co_return traced(value);
}

// Runs `root` to its wait and to its end, and expects all traced objects to be destroyed.
template <class Root>
void expect_no_leak(Root const& root) {
    traced::restart();
    auto const initial = frames_alive();
    {
        auto run = root();
        run.start();
        EXPECT_FALSE(run.done());
        EXPECT_TRUE(gate.awaited());
        while (!run.done()) gate.set();
    }
    EXPECT_EQ(traced::constructed, traced::destroyed);
    EXPECT_EQ(frames_alive(), initial);

    // The same when it is destroyed while suspended.
    traced::restart();
    {
        auto run = root();
        run.start();
        EXPECT_TRUE(gate.awaited());
    }
    EXPECT_FALSE(gate.awaited());
    EXPECT_EQ(traced::constructed, traced::destroyed);
    EXPECT_EQ(frames_alive(), initial);
}

TEST(canary, a_temporary_by_reference_lives_until_after_the_await) {
    expect_no_leak([]() -> driver {
        int const result = co_await by_reference(traced(7));
        EXPECT_EQ(result, 7);
        EXPECT_EQ(traced::constructed, 1);
        EXPECT_EQ(traced::destroyed, 1);
    });
}

TEST(canary, a_temporary_by_value_is_moved_into_the_frame) {
    expect_no_leak([]() -> driver {
        int const result = co_await by_value(traced(7));
        EXPECT_EQ(result, 7);
        EXPECT_EQ(traced::constructed, 2);
        EXPECT_EQ(traced::copied, 0);
        EXPECT_EQ(traced::alive(), 0);
    });
}

TEST(canary, aggregates_with_designated_initialisers) {
    expect_no_leak([]() -> driver {
        int const result = co_await sum_of_parts({.one = traced(1),
                                                  .text = "twenty bytes of text",
                                                  .number = std::make_unique<int>(100)});
        EXPECT_EQ(result, 121);
        EXPECT_EQ(traced::alive(), 0);
    });
    expect_no_leak([]() -> driver {
        int const result = co_await sum_of_parts_reference(
            {.one = traced(1), .text = std::string(20, 'a'), .number = std::make_unique<int>(100)});
        EXPECT_EQ(result, 121);
        EXPECT_EQ(traced::constructed, 1);
        EXPECT_EQ(traced::destroyed, 1);
    });
}

TEST(canary, braced_aggregates) {
    expect_no_leak([]() -> driver {
        int const result = co_await sum_of_parts({traced(1), "abc", std::make_unique<int>(10)});
        EXPECT_EQ(result, 14);
        EXPECT_EQ(traced::alive(), 0);
    });
    expect_no_leak([]() -> driver {
        int const result =
            co_await sum_of_parts(parts{traced(1), "abc", std::make_unique<int>(10)});
        EXPECT_EQ(result, 14);
        EXPECT_EQ(traced::alive(), 0);
    });
}

TEST(canary, initializer_lists) {
    expect_no_leak([]() -> driver {
        int const result = co_await sum({traced(1), traced(20), traced(300)});
        EXPECT_EQ(result, 321);
        EXPECT_EQ(traced::constructed, 3);
        EXPECT_EQ(traced::destroyed, 3);
    });
}

TEST(canary, unique_pointers_and_strings) {
    expect_no_leak([]() -> driver {
        int const result = co_await unboxed(std::make_unique<traced>(9));
        EXPECT_EQ(result, 9);
        EXPECT_EQ(traced::constructed, 1);
        EXPECT_EQ(traced::alive(), 0);
    });
    expect_no_leak([]() -> driver {
        std::size_t const result = co_await count_x(std::string(200, 'x') + "tail");
        EXPECT_EQ(result, 200u);
    });
}

TEST(canary, a_capturing_lambda_as_an_argument) {
    expect_no_leak([]() -> driver {
        int const result = co_await called([held = traced(5), text = std::string(40, 'y')] {
            return held.value + static_cast<int>(text.size());
        });
        EXPECT_EQ(result, 45);
        EXPECT_EQ(traced::alive(), 0);
    });
    expect_no_leak([]() -> driver {
        traced const local(6);
        int const result = co_await awaited([&local]() -> task<int> {  // NOLINT: as above
            int const value = co_await by_reference(local);
            co_return value;
        });
        EXPECT_EQ(result, 6);
        EXPECT_EQ(traced::alive(), 1);
    });
}

task<int> choose(bool left) {
    // Forbidden by the style; the compiler must support it.
    int const result = left ? co_await by_reference(traced(1)) : co_await by_value(traced(2));
    co_return result;
}

TEST(canary, a_conditional_operator_with_two_awaits) {
    expect_no_leak([]() -> driver {
        int const one = co_await choose(true);
        EXPECT_EQ(one, 1);
        EXPECT_EQ(traced::alive(), 0);
        int const two = co_await choose(false);
        EXPECT_EQ(two, 2);
        EXPECT_EQ(traced::alive(), 0);
    });
}

TEST(canary, an_await_as_an_argument_and_a_chain_of_temporaries) {
    expect_no_leak([]() -> driver {
        int const result = co_await by_reference(co_await make_traced(8));
        EXPECT_EQ(result, 8);
        EXPECT_EQ(traced::alive(), 0);
    });
    expect_no_leak([]() -> driver {
        traced const object = co_await make_traced(8);
        EXPECT_EQ(object.value, 8);
        EXPECT_EQ(traced::alive(), 1);
        EXPECT_EQ(traced::copied, 0);
    });
}

// Locals of a frame and of the child it awaits.
task<> inner() {
    traced const local(1);
    co_await gate;
    EXPECT_EQ(local.value, 1);
}
task<> outer() {
    traced const first(2);
    co_await inner();
    traced const second(3);
    co_await gate;
    EXPECT_EQ(first.value + second.value, 5);
}

TEST(canary, destruction_while_suspended_destroys_locals_and_child_once) {
    for (int waits = 0; waits < 2; ++waits) {
        traced::restart();
        auto const initial = frames_alive();
        auto const root = []() -> driver { co_await outer(); };
        auto run = root();
        run.start();
        for (int i = 0; i < waits; ++i) gate.set();
        EXPECT_EQ(traced::alive(), 2);
        EXPECT_GT(frames_alive(), initial);  // the optimiser may merge a child into its parent
        run.destroy();
        EXPECT_EQ(traced::alive(), 0);
        EXPECT_EQ(frames_alive(), initial);
    }
}

// Measures the growth of the stack.
class stack_meter {
  public:
    void measure() noexcept {
        auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        lowest_ = std::min(lowest_, here);
        highest_ = std::max(highest_, here);
    }
    std::uintptr_t growth() const { return highest_ - lowest_; }

  private:
    std::uintptr_t lowest_ = UINTPTR_MAX, highest_ = 0;
};

constexpr int million = 1'000'000;

task<int> ready(int value, stack_meter* meter) {
    meter->measure();
    co_return value + 1;
}

TEST(canary, a_million_tasks_that_are_ready_at_once_need_no_stack) {
    frame_pool pool;
    frame_pool::installation const use(pool);
    stack_meter meter;
    auto const root = [](stack_meter* meter, int* out) -> driver {
        int value = 0;
        while (value < million) value = co_await ready(value, meter);
        *out = value;
    };
    int out = 0;
    auto run = root(&meter, &out);
    run.start();
    EXPECT_TRUE(run.done());
    EXPECT_EQ(out, million);
    EXPECT_LT(meter.growth(), 4096u);
}

TEST(canary, a_million_ready_awaits_of_an_event) {
    stack_meter meter;
    auto const root = [](stack_meter* meter, int* out) -> driver {
        event ready_event;
        for (int i = 0; i < million; ++i) {
            ready_event.set();
            co_await ready_event;
            meter->measure();
            ++*out;
        }
    };
    int out = 0;
    auto run = root(&meter, &out);
    run.start();
    EXPECT_EQ(out, million);
    EXPECT_LT(meter.growth(), 4096u);
}

// Two coroutines that transfer control to each other without returning to a caller.
struct hand_over {
    std::coroutine_handle<>* own;
    std::coroutine_handle<>* other;

    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> self) const noexcept {
        *own = self;
        return *other;
    }
    void await_resume() const noexcept {}
};

struct remember {
    std::coroutine_handle<>* own;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) const noexcept { *own = self; }
    void await_resume() const noexcept {}
};

driver alternating(std::coroutine_handle<>* own, std::coroutine_handle<>* other, int* turns,
                   stack_meter* meter) {
    co_await remember{own};
    while (*turns < million) {
        ++*turns;
        meter->measure();
        co_await hand_over{own, other};
    }
}

TEST(canary, a_million_symmetric_transfers_between_two_coroutines) {
    std::coroutine_handle<> left, right;
    int turns = 0;
    stack_meter meter;
    auto one = alternating(&left, &right, &turns, &meter);
    auto two = alternating(&right, &left, &turns, &meter);
    one.start();
    two.start();
    left.resume();
    EXPECT_EQ(turns, million);
    EXPECT_LT(meter.growth(), 4096u);
}

task<> one_wait(event* target) {
    co_await *target;
}

TEST(canary, a_hundred_thousand_spawned_tasks_need_no_stack) {
    frame_pool pool;
    frame_pool::installation const use(pool);
    stack_meter meter;
    auto const root = [](stack_meter* meter, int* out) -> driver {
        scope all;
        for (; *out < million / 10; ++*out) {
            event go;
            all.spawn(one_wait, &go);
            go.set();
            meter->measure();
        }
        co_return;
    };
    int out = 0;
    auto run = root(&meter, &out);
    run.start();
    EXPECT_EQ(out, million / 10);
    EXPECT_LT(meter.growth(), 4096u);
}

task<int> request_part(int value) {
    co_return value;
}
task<int> request(int value, event* commit) {
    int const first = co_await request_part(value);
    co_await *commit;
    int const second = co_await request_part(first);
    co_return second;
}

TEST(canary, a_request_in_steady_state_allocates_nothing) {
    frame_pool pool;
    frame_pool::installation const use(pool);
    auto const root = [](event* commit, int* served) -> driver {
        for (;;) {
            int const result = co_await request(1, commit);
            *served += result;
        }
    };
    event commit;
    int served = 0;
    auto run = root(&commit, &served);
    run.start();
    for (int i = 0; i < 10; ++i) commit.set();
    auto const initial = allocations;
    for (int i = 0; i < 1000; ++i) commit.set();
    EXPECT_EQ(allocations, initial);
    EXPECT_EQ(served, 1010);
}

}  // namespace
}  // namespace latchkey::coro
