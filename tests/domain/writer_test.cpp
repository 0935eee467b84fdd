#include <atomic>
#include <deque>
#include <thread>

#include "base/limits.hpp"
#include "domain/writer/group.hpp"
#include "store/environment_state.hpp"
#include "support.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

// An executor that resumes on a thread of its own, as a worker does.
class thread_executor : public coro::executor {
  public:
    ~thread_executor() { stop(); }
    void post(coro::resumption& node) noexcept override {
        std::lock_guard const lock(mutex_);
        ready_.push_back(&node);
        condition_.notify_one();
    }
    void stop() {
        {
            std::lock_guard const lock(mutex_);
            stopping_ = true;
            condition_.notify_one();
        }
        if (thread_.joinable()) thread_.join();
    }
    std::thread::id id() const { return thread_.get_id(); }

  private:
    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            condition_.wait(lock, [&] { return stopping_ || !ready_.empty(); });
            if (ready_.empty()) return;
            auto const handle = ready_.front()->handle;
            ready_.pop_front();
            lock.unlock();
            handle.resume();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable condition_;
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
    std::atomic<int> count{0}, refusals{0}, on_wrong_thread{0};
};

detached write_some(writer& target, thread_executor& executor, std::string prefix, int count,
                    tally_of_answers& tally) {
    for (int i = 0; i < count; ++i) {
        commit submitted_commit(target, executor,
                                new_user("u", prefix + std::to_string(i) + "@example.org"));
        outcome const& answer = co_await submitted_commit;
        if (answer.problem != problem::none) ++tally.refusals;
        if (std::this_thread::get_id() != executor.id()) ++tally.on_wrong_thread;
        ++tally.count;
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
    void TearDown() override { expect_sound(*store_); }
};

TEST_F(writers, answer_when_it_is_done) {
    writer target(*store_);
    EXPECT_EQ(get_user(ask(target, new_user("Ann", "ann@example.org"))).id, 1);
    // One, or two: a writer that is idle before the first command dates the new store.
    auto const commits = target.count().commits;
    EXPECT_TRUE(commits == 1 || commits == 2) << commits;
    EXPECT_EQ(ask(target, new_user("Ann", "ann@example.org")).problem, problem::email_taken);
    EXPECT_EQ(target.count().commands, 2u);
    EXPECT_EQ(target.count().commits, commits) << "a refused command commits nothing";
    EXPECT_EQ(target.count().refused, 1u);
    EXPECT_EQ(users(), 1u);
}

TEST_F(writers, resume_coroutines_on_their_own_threads) {
    tally_of_answers tally;
    {
        thread_executor first, second;
        writer target(*store_);
        for (int i = 0; i < 20; ++i) {
            write_some(target, first, "a" + std::to_string(i) + "-", 25, tally);
            write_some(target, second, "b" + std::to_string(i) + "-", 25, tally);
        }
        while (tally.count != 1000) std::this_thread::yield();
        auto const count = target.count();
        EXPECT_EQ(count.commands, 1000u);
        EXPECT_LT(count.commits, 1000u);
    }
    EXPECT_EQ(tally.refusals, 0);
    EXPECT_EQ(tally.on_wrong_thread, 0);
    EXPECT_EQ(users(), 1000u);
}

TEST_F(writers, commit_in_groups_what_several_threads_submit) {
    constexpr int threads = 4, each = 500;
    writer target(*store_);
    std::vector<std::thread> all;
    std::atomic<int> wrong{0};
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            ticket_waiter executor;
            std::deque<ticket> tickets(each);
            for (int i = 0; i < each; ++i) {
                auto& pending = tickets[static_cast<std::size_t>(i)];
                pending.command =
                    new_user("u", std::to_string(t) + "-" + std::to_string(i) + "@example.org");
                pending.executor = &executor;
                if (!target.submit(pending)) ++wrong;
            }
            executor.wait_for(each);
            model::id last = 0;
            for (auto const& ticket : tickets) {
                if (ticket.outcome.problem != problem::none) ++wrong;
                // Commands of one thread are carried out in the order of submission.
                auto const* const user = std::get_if<model::user>(&ticket.outcome.record);
                if (user == nullptr || user->id <= last) ++wrong;
                if (user != nullptr) last = user->id;
            }
        });
    for (auto& thread : all) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(users(), std::uint64_t{threads * each});
    EXPECT_LT(target.count().commits, std::uint64_t{threads * each});
}

TEST_F(writers, do_not_commit_refused_commands) {
    get_user(one(*store_, new_user("Ann", "ann@example.org")));
    snapshot seen(*store_);
    seen.renew();
    auto const initial = seen.version();
    writer target(*store_);
    EXPECT_EQ(ask(target, new_user("Ann", "ANN@example.org")).problem, problem::email_taken);
    EXPECT_EQ(ask(target, {.action = delete_post{5}}).problem, problem::not_found);
    EXPECT_EQ(ask(target, {.action = change_user{.id = 1}}).problem, problem::none);
    seen.renew();
    EXPECT_EQ(seen.version(), initial);
    EXPECT_EQ(target.count().commits, 0u);
}

TEST_F(writers, show_answered_commands_in_every_later_snapshot) {
    writer target(*store_);
    std::atomic<int> stale{0};
    std::vector<std::thread> all;
    for (int t = 0; t < 3; ++t)
        all.emplace_back([&, t] {
            snapshot seen(*store_);
            for (int i = 0; i < 200; ++i) {
                auto const answer = ask(
                    target,
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

TEST_F(writers, do_not_change_live_snapshots) {
    writer target(*store_);
    snapshot early(*store_);
    early.renew();
    for (int i = 0; i < 50; ++i) ask(target, new_user("u", std::to_string(i) + "@example.org"));
    EXPECT_EQ(early.users({}, [](auto const&) {}).total, 0u);
    EXPECT_FALSE(early.user(1));
    auto const version = early.version();
    early.renew();
    EXPECT_GT(early.version(), version);
    EXPECT_EQ(early.users({}, [](auto const&) {}).total, 50u);
}

TEST_F(writers, answer_everything_before_they_stop) {
    ticket_waiter executor;
    std::deque<ticket> tickets(300);
    writer target(*store_);
    std::size_t submitted = 0;
    for (auto& pending : tickets) {
        pending.command = new_user("u", std::to_string(submitted) + "@example.org");
        pending.executor = &executor;
        if (target.submit(pending)) ++submitted;
    }
    target.stop();
    target.stop();
    executor.wait_for(submitted);
    EXPECT_EQ(users(), 300u);
    ticket late;
    late.command = new_user("late", "late@example.org");
    late.executor = &executor;
    EXPECT_FALSE(target.submit(late));
    EXPECT_EQ(ask(target, new_user("u", "x@example.org")).problem, problem::overloaded);
}

TEST_F(writers, stop_while_others_submit) {
    for (int round = 0; round < 20; ++round) {
        writer target(*store_);
        std::vector<std::thread> all;
        std::atomic<int> unanswered{0};
        for (int t = 0; t < 3; ++t)
            all.emplace_back([&, t] {
                for (;;) {
                    auto const answer = ask(target, {.action = delete_user{1'000'000 + t}});
                    if (answer.problem == problem::overloaded) return;
                    if (answer.problem != problem::not_found) ++unanswered;
                }
            });
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        target.stop();
        for (auto& thread : all) thread.join();
        EXPECT_EQ(unanswered, 0);
    }
}

TEST_F(writers, refuse_when_the_queue_is_full) {
    // Another transaction holds the write lock, so nothing leaves the queue's count.
    writer target(*store_);
    ticket_waiter executor;
    std::deque<ticket> tickets(2000);
    std::string const body(60'000, 'b');
    std::size_t accepted = 0, refusals = 0;
    for (auto& pending : tickets) {
        pending.command = new_post(1, "t", model::post_status::draft, body);
        pending.executor = &executor;
        ++(target.submit(pending) ? accepted : refusals);
    }
    // 2,000 of these exceed 64 MiB; how many were carried out in between is not known.
    EXPECT_GE(accepted, 64 * base::limits::mib / (body.size() + 4096));
    executor.wait_for(accepted);
    for (auto const& pending : tickets)
        EXPECT_TRUE(pending.outcome.problem == problem::validation_failed ||
                    &pending >= &tickets[accepted] || refusals != 0);
    // There is capacity again.
    EXPECT_EQ(ask(target, {.action = delete_user{1}}).problem, problem::not_found);
}

// A group holds what one transaction may take, however the commands were queued.
TEST_F(writers, end_a_group_at_its_bytes) {
    get_user(one(*store_, new_user("Ann", "ann@example.org")));
    std::string const body(60'000, 'b');
    std::vector<command> commands;
    for (int i = 0; i < 200; ++i)
        commands.push_back(new_post(1, "t", model::post_status::draft, body));
    std::vector<outcome> outcomes(commands.size());
    std::vector<job> jobs;
    for (std::size_t i = 0; i < commands.size(); ++i) jobs.push_back({&commands[i], &outcomes[i]});
    auto const result = apply_group(store_->native(), jobs, 0);
    EXPECT_EQ(result.failure, 0);
    EXPECT_GT(result.job_count, 20u);
    EXPECT_LE(result.job_count * body.size(),
              base::limits::command_bytes_per_commit_max + body.size());
}

TEST_F(writers, await_without_suspending_when_stopped) {
    thread_executor executor;
    writer target(*store_);
    target.stop();
    tally_of_answers tally;
    write_some(target, executor, "x", 3, tally);
    EXPECT_EQ(tally.count, 3);
    EXPECT_EQ(tally.refusals, 3);
}

}  // namespace
}  // namespace latchkey::domain
