#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "coro/event.hpp"
#include "coro/frame_pool.hpp"
#include "coro/scope.hpp"
#include "coro/task.hpp"
#include "driver.hpp"

namespace latchkey::coro {
namespace {

task<int> twice(int value) {
    co_return value * 2;
}
task<std::unique_ptr<int>> boxed(int value) {
    co_return std::make_unique<int>(value);
}
task<> wait_on(event* on, int* passed) {
    co_await *on;
    ++*passed;
}
task<> add(int* to, int value) {
    int const doubled = co_await twice(value);
    *to += doubled;
}
task<> throws() {
    throw std::runtime_error("lost");
    co_return;
}

TEST(task, gives_its_value_and_is_lazy) {
    int got = 0;
    auto const root = [](int* into) -> driver {
        int const doubled = co_await twice(21);
        auto const box = co_await boxed(7);
        *into = doubled + *box;
    };
    auto run = root(&got);
    EXPECT_EQ(got, 0);
    run.start();
    EXPECT_TRUE(run.done());
    EXPECT_EQ(got, 49);
}

TEST(task, a_call_that_is_not_awaited_never_runs) {
    auto const before = frames_alive();
    int to = 0;
    {
        auto const never = add(&to, 1);
    }
    EXPECT_EQ(to, 0);
    EXPECT_EQ(frames_alive(), before);
}

TEST(task_death, an_exception_ends_the_process) {
    EXPECT_DEATH(
        {
            scope all;
            all.spawn(throws);
        },
        "an exception left a coroutine: lost");
}

TEST(scope, runs_at_once_and_holds_what_it_was_given) {
    scope all;
    event go;
    std::string seen;
    auto const later = [](event* on, std::string text, std::string* into) -> task<> {
        co_await *on;
        *into = text;
    };
    int passed = 0;
    all.spawn(add, &passed, 4);
    EXPECT_EQ(passed, 8);
    EXPECT_EQ(all.size(), 0u);
    {
        std::string const text = "longer than the small string buffer is";
        all.spawn(later, &go, text, &seen);
    }
    EXPECT_EQ(all.size(), 1u);
    go.set();
    EXPECT_EQ(all.size(), 0u);
    EXPECT_EQ(seen, "longer than the small string buffer is");
}

TEST(scope, keeps_a_closure_alive_while_its_coroutine_runs) {
    scope all;
    event go;
    auto held = std::make_shared<int>(5);
    int got = 0;
    all.spawn([held, &go, &got]() -> task<> {  // NOLINT: what is tested
        co_await go;
        got = *held;
    });
    EXPECT_EQ(held.use_count(), 2);
    go.set();
    EXPECT_EQ(got, 5);
    EXPECT_EQ(held.use_count(), 1);
}

TEST(scope, join_waits_for_the_last_and_finds_its_frames_gone) {
    scope all;
    std::array<event, 3> events;
    int passed = 0;
    auto const before = frames_alive();
    for (auto& each : events) all.spawn(wait_on, &each, &passed);
    std::ptrdiff_t left = -1;
    auto const root = [](scope* of, std::ptrdiff_t* frames) -> driver {
        co_await of->join();
        *frames = frames_alive();
    };
    auto join = root(&all, &left);
    join.start();
    events[1].set();
    events[0].set();
    EXPECT_EQ(all.size(), 1u);
    EXPECT_FALSE(join.done());
    events[2].set();
    EXPECT_TRUE(join.done());
    EXPECT_EQ(passed, 3);
    EXPECT_LE(left, before + 1);  // the joining root
}

TEST(scope, join_of_nothing_goes_on_at_once) {
    scope all;
    auto const root = [](scope* of) -> driver { co_await of->join(); };
    auto join = root(&all);
    join.start();
    EXPECT_TRUE(join.done());
}

TEST(scope, forgets_a_joiner_that_was_destroyed) {
    scope all;
    event go;
    int passed = 0;
    all.spawn(wait_on, &go, &passed);
    auto const root = [](scope* of) -> driver { co_await of->join(); };
    {
        auto join = root(&all);
        join.start();
    }
    go.set();
    EXPECT_EQ(all.size(), 0u);
}

TEST(scope_death, a_scope_with_something_in_it_must_not_end) {
    EXPECT_DEATH(
        {
            event go;
            int passed = 0;
            scope all;
            all.spawn(wait_on, &go, &passed);
        },
        "a scope destroyed before");
}

TEST(event, is_remembered_and_consumed) {
    event one;
    int passed = 0;
    scope all;
    one.set();
    one.set();
    all.spawn(wait_on, &one, &passed);
    EXPECT_EQ(passed, 1);
    EXPECT_FALSE(one.is_set());
    all.spawn(wait_on, &one, &passed);
    EXPECT_EQ(passed, 1);
    EXPECT_TRUE(one.awaited());
    one.set();
    EXPECT_EQ(passed, 2);
    EXPECT_FALSE(one.is_set());
    one.set();
    one.reset();
    EXPECT_FALSE(one.is_set());
}

TEST(event, its_waiter_may_destroy_it) {
    auto one = std::make_unique<event>();
    scope all;
    auto const waiter = [](std::unique_ptr<event>* owner) -> task<> {
        co_await **owner;
        owner->reset();
    };
    all.spawn(waiter, &one);
    one->set();
    EXPECT_EQ(one, nullptr);
    EXPECT_EQ(all.size(), 0u);
}

TEST(event, forgets_a_waiter_that_was_destroyed) {
    event one;
    auto const root = [](event* on) -> driver { co_await *on; };
    {
        auto run = root(&one);
        run.start();
        EXPECT_TRUE(one.awaited());
    }
    EXPECT_FALSE(one.awaited());
    one.set();
    EXPECT_TRUE(one.is_set());
}

TEST(event_death, has_one_waiter) {
    EXPECT_DEATH(
        {
            event one;
            int passed = 0;
            scope all;
            all.spawn(wait_on, &one, &passed);
            all.spawn(wait_on, &one, &passed);
        },
        "awaited twice");
}

TEST(frame_pool, keeps_frames_for_the_next_and_is_bounded) {
    frame_pool pool(4096);
    frame_pool::installation const use(pool);
    int to = 0;
    scope all;
    for (int i = 0; i < 3; ++i) all.spawn(add, &to, 1);
    auto const kept = pool.free_bytes();
    EXPECT_GT(kept, 0u);
    for (int i = 0; i < 100; ++i) all.spawn(add, &to, 1);
    EXPECT_EQ(pool.free_bytes(), kept);
    EXPECT_EQ(pool.frames(), 0u);

    event go[100];
    for (auto& each : go) all.spawn(wait_on, &each, &to);
    EXPECT_GE(pool.frames(), 100u);
    for (auto& each : go) each.set();
    EXPECT_EQ(pool.frames(), 0u);
    EXPECT_LE(pool.free_bytes(), 4096u);
}

TEST(frame_pool, a_frame_made_without_a_pool_may_end_within_one) {
    event go;
    int passed = 0;
    scope all;
    all.spawn(wait_on, &go, &passed);
    frame_pool pool;
    {
        frame_pool::installation const use(pool);
        go.set();
    }
    EXPECT_EQ(passed, 1);
    EXPECT_EQ(pool.free_bytes(), 0u);
}

TEST(frame_pool, large_frames_are_given_back) {
    frame_pool pool;
    frame_pool::installation const use(pool);
    auto const freed = pooled_frame::operator new(frame_pool::pooled_bytes_max + 1);
    EXPECT_EQ(pool.frames(), 0u);
    pooled_frame::operator delete(freed, frame_pool::pooled_bytes_max + 1);
    EXPECT_EQ(pool.free_bytes(), 0u);

    auto const kept = pooled_frame::operator new(frame_pool::pooled_bytes_max);
    EXPECT_EQ(pool.frames(), 1u);
    pooled_frame::operator delete(kept, frame_pool::pooled_bytes_max);
    EXPECT_EQ(pool.free_bytes(), frame_pool::pooled_bytes_max);
    auto const again = pooled_frame::operator new(frame_pool::pooled_bytes_max - 1);
    EXPECT_EQ(again, kept);
    pooled_frame::operator delete(again, frame_pool::pooled_bytes_max - 1);
}

TEST(frame_pool_death, a_frame_belongs_to_its_thread) {
    EXPECT_DEATH(
        {
            frame_pool pool;
            event go;
            int passed = 0;
            scope all;
            {
                frame_pool::installation const use(pool);
                all.spawn(wait_on, &go, &passed);
            }
            go.set();
        },
        "away from its pool");
}

}  // namespace
}  // namespace latchkey::coro
