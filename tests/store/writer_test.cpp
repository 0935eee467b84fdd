#include <atomic>
#include <deque>
#include <thread>

#include "base/limits.hpp"
#include "support.hpp"

namespace latchkey::store {
namespace {

using base::problem;

// Resumes on a thread of its own, as a worker does.
class loop : public coro::executor {
  public:
    ~loop() { stop(); }
    void post(coro::resumption& node) noexcept override {
        std::lock_guard const lock(mutex_);
        ready_.push_back(&node);
        changed_.notify_one();
    }
    void stop() {
        {
            std::lock_guard const lock(mutex_);
            stopping_ = true;
            changed_.notify_one();
        }
        if (thread_.joinable()) thread_.join();
    }
    std::thread::id id() const { return thread_.get_id(); }

  private:
    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return stopping_ || !ready_.empty(); });
            if (ready_.empty()) return;
            auto const handle = ready_.front()->handle;
            ready_.pop_front();
            lock.unlock();
            handle.resume();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<coro::resumption*> ready_;
    bool stopping_ = false;
    std::thread thread_{[this] { run(); }};
};

struct detached {
    struct promise_type {
        detached get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

struct tally_of_answers {
    std::atomic<int> done{0}, refused{0}, elsewhere{0};
};

detached write_some(writer& through, loop& home, std::string prefix, int count,
                    tally_of_answers& tally) {
    for (int i = 0; i < count; ++i) {
        commit waiting(through, home, new_user("u", prefix + std::to_string(i) + "@example.org"));
        outcome const& answer = co_await waiting;
        if (answer.problem != problem::none) ++tally.refused;
        if (std::this_thread::get_id() != home.id()) ++tally.elsewhere;
        ++tally.done;
    }
}

class writers : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());

    std::uint64_t users() {
        snapshot seen(*store_);
        seen.renew();
        return seen.users({}, [](auto const&) {}).total;
    }
    void TearDown() override { expect_whole(*store_); }
};

TEST_F(writers, answer_when_it_is_done) {
    writer through(*store_);
    EXPECT_EQ(made_user(ask(through, new_user("Ann", "ann@example.org"))).id, 1);
    EXPECT_EQ(ask(through, new_user("Ann", "ann@example.org")).problem, problem::email_taken);
    EXPECT_EQ(through.count().commands, 2u);
    EXPECT_EQ(through.count().commits, 1u);
    EXPECT_EQ(through.count().refused, 1u);
    EXPECT_EQ(users(), 1u);
}

TEST_F(writers, resume_coroutines_on_their_own_threads) {
    tally_of_answers tally;
    {
        loop first, second;
        writer through(*store_);
        for (int i = 0; i < 20; ++i) {
            write_some(through, first, "a" + std::to_string(i) + "-", 25, tally);
            write_some(through, second, "b" + std::to_string(i) + "-", 25, tally);
        }
        while (tally.done != 1000) std::this_thread::yield();
        auto const count = through.count();
        EXPECT_EQ(count.commands, 1000u);
        EXPECT_LT(count.commits, 1000u);
    }
    EXPECT_EQ(tally.refused, 0);
    EXPECT_EQ(tally.elsewhere, 0);
    EXPECT_EQ(users(), 1000u);
}

TEST_F(writers, commit_in_groups_what_several_threads_submit) {
    constexpr int threads = 4, each = 500;
    writer through(*store_);
    std::vector<std::thread> all;
    std::atomic<int> wrong{0};
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            waiter home;
            std::deque<ticket> tickets(each);
            for (int i = 0; i < each; ++i) {
                auto& mine = tickets[static_cast<std::size_t>(i)];
                mine.command =
                    new_user("u", std::to_string(t) + "-" + std::to_string(i) + "@example.org");
                mine.home = &home;
                if (!through.submit(mine)) ++wrong;
            }
            home.wait_for(each);
            model::id last = 0;
            for (auto const& ticket : tickets) {
                if (ticket.outcome.problem != problem::none) ++wrong;
                // What one thread submitted was carried out in its order.
                auto const* const user = std::get_if<model::user>(&ticket.outcome.record);
                if (user == nullptr || user->id <= last) ++wrong;
                if (user != nullptr) last = user->id;
            }
        });
    for (auto& thread : all) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(users(), std::uint64_t{threads * each});
    EXPECT_LT(through.count().commits, std::uint64_t{threads * each});
}

TEST_F(writers, do_not_commit_what_was_refused) {
    made_user(one(*store_, new_user("Ann", "ann@example.org")));
    snapshot seen(*store_);
    seen.renew();
    auto const before = seen.version();
    writer through(*store_);
    EXPECT_EQ(ask(through, new_user("Ann", "ANN@example.org")).problem, problem::email_taken);
    EXPECT_EQ(ask(through, {.what = delete_post{5}}).problem, problem::not_found);
    EXPECT_EQ(ask(through, {.what = change_user{.id = 1}}).problem, problem::none);
    seen.renew();
    EXPECT_EQ(seen.version(), before);
    EXPECT_EQ(through.count().commits, 0u);
}

TEST_F(writers, see_what_was_answered_in_every_later_renew) {
    writer through(*store_);
    std::atomic<int> stale{0};
    std::vector<std::thread> all;
    for (int t = 0; t < 3; ++t)
        all.emplace_back([&, t] {
            snapshot seen(*store_);
            for (int i = 0; i < 200; ++i) {
                auto const answer = ask(
                    through,
                    new_user("u", std::to_string(t) + "-" + std::to_string(i) + "@example.org"));
                seen.renew();
                auto const* const user = std::get_if<model::user>(&answer.record);
                if (user == nullptr || !seen.user(user->id)) ++stale;
                seen.reset();
            }
        });
    for (auto& thread : all) thread.join();
    EXPECT_EQ(stale, 0);
}

TEST_F(writers, leave_snapshots_as_they_were) {
    writer through(*store_);
    snapshot early(*store_);
    early.renew();
    for (int i = 0; i < 50; ++i) ask(through, new_user("u", std::to_string(i) + "@example.org"));
    EXPECT_EQ(early.users({}, [](auto const&) {}).total, 0u);
    EXPECT_FALSE(early.user(1));
    auto const version = early.version();
    early.renew();
    EXPECT_GT(early.version(), version);
    EXPECT_EQ(early.users({}, [](auto const&) {}).total, 50u);
}

TEST_F(writers, answer_everything_before_they_stop) {
    waiter home;
    std::deque<ticket> tickets(300);
    writer through(*store_);
    std::size_t submitted = 0;
    for (auto& mine : tickets) {
        mine.command = new_user("u", std::to_string(submitted) + "@example.org");
        mine.home = &home;
        if (through.submit(mine)) ++submitted;
    }
    through.stop();
    through.stop();
    home.wait_for(submitted);
    EXPECT_EQ(users(), 300u);
    ticket late;
    late.command = new_user("late", "late@example.org");
    late.home = &home;
    EXPECT_FALSE(through.submit(late));
    EXPECT_EQ(ask(through, new_user("u", "x@example.org")).problem, problem::overloaded);
}

TEST_F(writers, stop_while_others_submit) {
    for (int round = 0; round < 20; ++round) {
        writer through(*store_);
        std::vector<std::thread> all;
        std::atomic<int> unanswered{0};
        for (int t = 0; t < 3; ++t)
            all.emplace_back([&, t] {
                for (;;) {
                    auto const answer = ask(through, {.what = delete_user{1'000'000 + t}});
                    if (answer.problem == problem::overloaded) return;
                    if (answer.problem != problem::not_found) ++unanswered;
                }
            });
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        through.stop();
        for (auto& thread : all) thread.join();
        EXPECT_EQ(unanswered, 0);
    }
}

TEST_F(writers, refuse_when_too_much_waits) {
    // Another transaction holds the write lock, so that nothing is taken off the queue's count.
    writer through(*store_);
    waiter home;
    std::deque<ticket> tickets(2000);
    std::string const body(60'000, 'b');
    std::size_t taken = 0, refused = 0;
    for (auto& mine : tickets) {
        mine.command = new_post(1, "t", model::post_status::draft, body);
        mine.home = &home;
        ++(through.submit(mine) ? taken : refused);
    }
    // 2,000 of these are more than 64 MiB; how many were carried out meanwhile is not known.
    EXPECT_GE(taken, 64 * base::limits::mib / (body.size() + 4096));
    home.wait_for(taken);
    for (auto const& mine : tickets)
        EXPECT_TRUE(mine.outcome.problem == problem::validation_failed ||
                    &mine >= &tickets[taken] || refused != 0);
    // There is room again.
    EXPECT_EQ(ask(through, {.what = delete_user{1}}).problem, problem::not_found);
}

TEST_F(writers, await_without_suspending_when_stopped) {
    loop home;
    writer through(*store_);
    through.stop();
    tally_of_answers tally;
    write_some(through, home, "x", 3, tally);
    EXPECT_EQ(tally.done, 3);
    EXPECT_EQ(tally.refused, 3);
}

}  // namespace
}  // namespace latchkey::store
