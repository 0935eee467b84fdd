// The one thread that owns the process's write transactions. It takes all commands that queue up
// (at most commands_per_commit_max, command_bytes_per_commit_max), applies them in one transaction,
// commits it (one fdatasync whether it is 1 or 1,000), then resumes their waiters through their
// executors. Any thread submits. A sync that fails ends the process without answering, since nobody
// knows then what is on the disk.
//
//     store::commit done(writer, home, std::move(command));   // an awaitable; lives in the frame
//     store::outcome& result = co_await done;
#pragma once

#include <array>
#include <bit>
#include <coroutine>
#include <memory>
#include <vector>

#include "base/limits.hpp"
#include "coro/executor.hpp"
#include "store/command.hpp"
#include "store/environment.hpp"

namespace latchkey::store {

// A command on its way; intrusive, owned by whoever waits for it until it was resumed.
struct ticket : coro::resumption {
    store::command command;
    store::outcome outcome;
    coro::executor* home = nullptr;
    ticket* behind = nullptr;  // in the writer's queue
};

class writer {
  public:
    explicit writer(environment& store);
    ~writer();  // stops
    writer(writer const&) = delete;
    writer& operator=(writer const&) = delete;

    static constexpr std::size_t group_sizes =
        std::bit_width(base::limits::commands_per_commit_max);

    // False when the queue is full or the writer has stopped; then nothing will be resumed.
    bool submit(ticket& waiting);
    // Everything submitted is committed and answered, then the thread ends. Idempotent.
    void stop();

    struct counters {
        std::uint64_t commits = 0, commands = 0, refused = 0;
        // Groups by how many commands went with one commit: groups[i] of 2^i at most, and more
        // than half of that. (Commits without a command, which purge, are in none.)
        std::array<std::uint64_t, group_sizes> groups{};
    };
    counters count() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

// Awaits one command. When the queue is full it does not suspend and the outcome is `overloaded`.
class commit {
  public:
    commit(writer& through, coro::executor& home, command what) : writer_(through) {
        ticket_.command = std::move(what);
        ticket_.home = &home;
    }
    commit(commit const&) = delete;
    commit& operator=(commit const&) = delete;

    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> waiter) {
        ticket_.handle = waiter;
        if (writer_.submit(ticket_))
            return true;  // this frame may be running elsewhere already: touch nothing
        ticket_.outcome.problem = base::problem::overloaded;
        return false;
    }
    outcome& await_resume() { return ticket_.outcome; }

  private:
    writer& writer_;
    ticket ticket_;
};

// The same commands on this thread, for the command line: at most 64 a call, in one transaction (a
// few when users with many posts go), which never waits for input. Outcomes in the order of the
// commands. Posts that deleted users leave are removed before it returns. An error: a transaction
// could not be begun; of a call that took several, the earlier ones hold.
base::result<std::vector<outcome>> apply(environment& store, std::vector<command> commands);

}  // namespace latchkey::store
