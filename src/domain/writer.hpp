// Group commit: the one thread that owns the process's write transactions. It takes all queued
// commands (at most commands_per_commit_max, command_bytes_per_commit_max), applies them in one
// transaction, commits it (one fdatasync for 1 or for 1,000), then resumes the waiting coroutines
// through their executors. Any thread submits. A sync that fails ends the process without
// answering, since the state of the disk is unknown then.
//
// When another process holds the store's write lock for 5 s (a command that was stopped), all
// waiting commands are answered `store_busy` and `submit` refuses, until the lock is free again.
//
//     domain::commit commit(writer, executor, std::move(command));   // an awaitable, in the frame
//     domain::outcome& outcome = co_await commit;
#pragma once

#include <array>
#include <bit>
#include <coroutine>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "domain/command.hpp"
#include "domain/writer/ticket.hpp"
#include "store/environment.hpp"

namespace latchkey::domain {

class writer {
  public:
    explicit writer(environment& store);
    ~writer();  // stops
    writer(writer const&) = delete;
    writer& operator=(writer const&) = delete;

    static constexpr std::size_t group_sizes =
        std::bit_width(base::limits::commands_per_commit_max);

    // False: the queue is full, the store is busy or the writer has stopped. Then nothing will be
    // resumed, and `refusal` is the reason.
    bool submit(ticket& ticket);
    base::problem refusal() const;
    // Commits and answers everything submitted, then ends the thread. Idempotent.
    void stop();
    // A sentence about the process that holds the write lock for too long; empty: none does.
    std::string lockout() const;
    // From now on waits for that lock are short: what cannot be committed is `store_busy`.
    void shorten_waits();

    struct counters {
        std::uint64_t commits = 0, commands = 0, refused = 0;
        // Histogram of commits by their number of commands: groups[i] counts those of more than
        // 2^(i-1) and at most 2^i. Commits without a command, which only remove, are in none.
        std::array<std::uint64_t, group_sizes> groups{};
    };
    counters count() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

// Awaits one command. If the writer refuses it, the coroutine does not suspend, and the outcome is
// `overloaded` or `store_busy`.
class commit {
  public:
    commit(writer& writer, coro::executor& executor, command command) : writer_(writer) {
        ticket_.command = std::move(command);
        ticket_.executor = &executor;
    }
    commit(commit const&) = delete;
    commit& operator=(commit const&) = delete;

    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> waiter) {
        ticket_.handle = waiter;
        if (writer_.submit(ticket_))
            return true;  // the frame may be running elsewhere already: touch nothing
        ticket_.outcome.problem = writer_.refusal();
        return false;
    }
    outcome& await_resume() { return ticket_.outcome; }

  private:
    writer& writer_;
    ticket ticket_;
};

// The same commands on the calling thread, for the command line: at most 64 per call, in one
// transaction (a few if users with many posts are deleted). Outcomes are in the order of the
// commands. Posts of deleted users are removed before it returns. An error: a transaction could not
// begin; if there were several, the earlier ones are committed.
base::result<std::vector<outcome>> apply(environment& store, std::vector<command> commands);

}  // namespace latchkey::domain
