// Limits across nodes with everything that threads share in use at once: workers that charge keys,
// wait for tokens and are told of them, the node's thread that asks for them, and changes of
// limits. Meant for ThreadSanitizer (tools/test tsan).
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cluster/quota_purse.hpp"
#include "runtime/coro/task.hpp"
#include "runtime/coro/task_scope.hpp"
#include "server/net/token_waiters.hpp"
#include "tests/cluster/token_engine.hpp"

namespace latchkey::server {
namespace {

using cluster::quota_state;

constexpr auto duration = 500 * base::millisecond;
constexpr std::size_t worker_count = 6, key_count = 5, requests_max = 16;

limit::policy policy_of(std::uint32_t limit) {
    std::vector<model::rate_limit> const limits = {{"a", limit, 1, limit / 4}};
    return limit::prepare(limits, std::array<std::uint8_t, 1>{0});
}

// A worker's thread without I/O: turns with mail, timers and new requests.
class turning_worker final : public coro::executor {
  public:
    turning_worker(cluster::quota& shared, std::size_t index) : index_(index), purse_(shared) {}

    void post(coro::resumption& node) noexcept override {
        std::lock_guard const held(mutex_);
        mail_.push_back(&node);
    }
    void tell() { waiters.tell(*this); }
    void run(base::mono_ns end) {
        for (std::size_t turn = 0; now_ < end || tasks_.size() != 0; ++turn) {
            now_ = cluster::read_boot();
            waiters.begin_turn();
            deliver();
            if (tasks_.size() < requests_max && now_ < end)
                tasks_.spawn(request, this,
                             static_cast<model::id>(1 + (turn + index_) % key_count));
            timers_.expire(now_);
            if (turn % 8 == 0) std::this_thread::yield();
        }
        deliver();
    }

    token_waiters waiters;
    std::array<std::uint64_t, key_count + 1> admitted{};
    std::uint64_t waits = 0, refusals = 0;

  private:
    static coro::task<> request(turning_worker* worker, model::id key) {
        static auto const policies = std::array{policy_of(40'000), policy_of(2'000)};
        // The limits of the last key change all the time, so that it may come to nothing.
        bool const second_policy = key == key_count && worker->now_ / base::millisecond % 2 == 0;
        auto const& policy = policies[second_policy ? 1 : 0];
        cluster::quota_ticket ticket;
        for (;;) {
            auto const verdict = worker->purse_.admit(key, policy, worker->now_, 1, ticket);
            if (verdict.state != quota_state::pending) {
                if (key != key_count) EXPECT_EQ(verdict.state, quota_state::decided);
                ++(verdict.decision.admitted() ? worker->admitted[static_cast<std::size_t>(key)]
                                               : worker->refusals);
                co_return;
            }
            ++worker->waits;
            co_await token_waiters::wait(worker->waiters, worker->timers_, *worker, worker->now_);
        }
    }
    void deliver() {
        std::vector<coro::resumption*> batch;
        {
            std::lock_guard const held(mutex_);
            batch.swap(mail_);
        }
        for (auto* const each : batch) each->resume();
    }

    std::size_t const index_;
    base::mono_ns now_ = cluster::read_boot();
    uring::timers timers_{now_};
    coro::scope tasks_;
    std::mutex mutex_;
    std::vector<coro::resumption*> mail_;
    cluster::quota_purse purse_;
};

TEST(together, tokens_of_many_workers_stay_below_the_promise) {
    cluster::token_engine engine;
    std::array<std::unique_ptr<turning_worker>, worker_count> workers;
    std::latch beginning(worker_count + 1);
    std::atomic<std::size_t> ends{0};
    auto const start = cluster::read_boot();
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < worker_count; ++i)
        threads.emplace_back([&, i] {
            workers[i] = std::make_unique<turning_worker>(engine.node(), i);
            beginning.arrive_and_wait();
            workers[i]->run(start + duration);
            ++ends;
        });
    beginning.arrive_and_wait();
    engine.node().attach();
    while (ends != worker_count) {
        auto const now = cluster::read_boot();
        engine.node().hold_lease(now + 30 * base::second, now);
        engine.answer(now);
        for (auto const& each : workers) each->tell();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    for (auto& each : threads) each.join();
    auto const elapsed = static_cast<double>(cluster::read_boot() - start) / base::second;
    std::uint64_t waits = 0, refusals = 0;
    for (auto const& each : workers) waits += each->waits, refusals += each->refusals;
    for (std::size_t key = 1; key < key_count; ++key) {
        std::uint64_t admitted = 0;
        for (auto const& each : workers) admitted += each->admitted[key];
        EXPECT_GT(admitted, 0u);
        EXPECT_LE(static_cast<double>(admitted), 10'000 + 40'000 * elapsed);
    }
    EXPECT_GT(waits, 0u);
    RecordProperty("waits", std::to_string(waits));
    RecordProperty("refusals", std::to_string(refusals));
}

}  // namespace
}  // namespace latchkey::server
