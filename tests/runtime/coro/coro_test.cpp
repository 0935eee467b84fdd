#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "driver.hpp"
#include "event.hpp"
#include "runtime/coro/frame_pool.hpp"
#include "runtime/coro/task.hpp"
#include "runtime/coro/task_scope.hpp"

namespace latchkey::coro {
namespace {

task<int> twice(int value) {
    co_return value * 2;
}
task<std::unique_ptr<int>> boxed(int value) {
    co_return std::make_unique<int>(value);
}
task<> wait_on(event* target, int* passed) {
    co_await *target;
    ++*passed;
}
task<> add(int* sum, int value) {
    int const doubled = co_await twice(value);
    *sum += doubled;
}
task<> throws() {
    throw std::runtime_error("lost");
    co_return;
}

TEST(task, returns_its_value_and_is_lazy) {
    int result = 0;
    auto const root = [](int* output) -> driver {
        int const doubled = co_await twice(21);
        auto const box = co_await boxed(7);
        *output = doubled + *box;
    };
    auto run = root(&result);
    EXPECT_EQ(result, 0);
    run.start();
    EXPECT_TRUE(run.done());
    EXPECT_EQ(result, 49);
}

TEST(task, a_call_that_is_not_awaited_never_runs) {
    auto const initial = frames_alive();
    int sum = 0;
    {
        auto const never = add(&sum, 1);
    }
    EXPECT_EQ(sum, 0);
    EXPECT_EQ(frames_alive(), initial);
}

TEST(task_death, an_exception_ends_the_process) {
    EXPECT_DEATH(
        {
            scope all;
            all.spawn(throws);
        },
        "an exception left a coroutine: lost");
}

TEST(scope, runs_at_once_and_keeps_its_arguments) {
    scope all;
    event go;
    std::string received;
    auto const later = [](event* target, std::string text, std::string* output) -> task<> {
        co_await *target;
        *output = text;
    };
    int passed = 0;
    all.spawn(add, &passed, 4);
    EXPECT_EQ(passed, 8);
    EXPECT_EQ(all.size(), 0u);
    {
        std::string const text = "longer than the small string buffer is";
        all.spawn(later, &go, text, &received);
    }
    EXPECT_EQ(all.size(), 1u);
    go.set();
    EXPECT_EQ(all.size(), 0u);
    EXPECT_EQ(received, "longer than the small string buffer is");
}

TEST(scope, keeps_a_closure_alive_while_its_coroutine_runs) {
    scope all;
    event go;
    auto shared_value = std::make_shared<int>(5);
    int result = 0;
    all.spawn([shared_value, &go, &result]() -> task<> {  // NOLINT: under test
        co_await go;
        result = *shared_value;
    });
    EXPECT_EQ(shared_value.use_count(), 2);
    go.set();
    EXPECT_EQ(result, 5);
    EXPECT_EQ(shared_value.use_count(), 1);
}

TEST(scope, counts_a_task_until_its_frame_is_freed) {
    scope all;
    std::array<event, 3> events;
    int passed = 0;
    auto const frames = frames_alive();
    for (auto& event : events) all.spawn(wait_on, &event, &passed);
    events[1].set();
    events[0].set();
    EXPECT_EQ(all.size(), 1u);
    EXPECT_GT(frames_alive(), frames);
    events[2].set();
    EXPECT_EQ(all.size(), 0u);
    EXPECT_EQ(passed, 3);
    EXPECT_EQ(frames_alive(), frames);
}

TEST(scope_death, a_scope_with_running_tasks_must_not_end) {
    EXPECT_DEATH(
        {
            event go;
            int passed = 0;
            scope all;
            all.spawn(wait_on, &go, &passed);
        },
        "a scope destroyed before");
}

TEST(event, stays_set_until_awaited) {
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
    auto const root = [](event* target) -> driver { co_await *target; };
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

TEST(frame_pool, reuses_frames_and_is_bounded) {
    frame_pool pool(4096);
    frame_pool::installation const use(pool);
    int sum = 0;
    scope all;
    for (int i = 0; i < 3; ++i) all.spawn(add, &sum, 1);
    auto const pooled = pool.free_bytes();
    EXPECT_GT(pooled, 0u);
    for (int i = 0; i < 100; ++i) all.spawn(add, &sum, 1);
    EXPECT_EQ(pool.free_bytes(), pooled);
    EXPECT_EQ(pool.frames(), 0u);

    event go[100];
    for (auto& each : go) all.spawn(wait_on, &each, &sum);
    EXPECT_GE(pool.frames(), 100u);
    for (auto& each : go) each.set();
    EXPECT_EQ(pool.frames(), 0u);
    EXPECT_LE(pool.free_bytes(), 4096u);
}

TEST(frame_pool, a_frame_created_without_a_pool_may_end_with_one) {
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

TEST(frame_pool, large_frames_return_to_the_heap) {
    frame_pool pool;
    frame_pool::installation const use(pool);
    auto const freed = pooled_frame::operator new(frame_pool::pooled_bytes_max + 1);
    EXPECT_EQ(pool.frames(), 0u);
    pooled_frame::operator delete(freed, frame_pool::pooled_bytes_max + 1);
    EXPECT_EQ(pool.free_bytes(), 0u);

    auto const pooled = pooled_frame::operator new(frame_pool::pooled_bytes_max);
    EXPECT_EQ(pool.frames(), 1u);
    pooled_frame::operator delete(pooled, frame_pool::pooled_bytes_max);
    EXPECT_EQ(pool.free_bytes(), frame_pool::pooled_bytes_max);
    auto const again = pooled_frame::operator new(frame_pool::pooled_bytes_max - 1);
    EXPECT_EQ(again, pooled);
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
