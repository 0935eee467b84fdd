#include "store/writer.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "store/commands.hpp"
#include "store/ticket_queue.hpp"

namespace latchkey::store {
namespace {

// Posts of deleted users that go with a group of commands: about a millisecond's worth.
constexpr std::size_t purge_beside_commands = 256;

bool more_to_remove(group_result const& after) {
    return (after.more_to_purge || after.more_expired) && after.failure == 0;
}

}  // namespace

struct writer::state {
    explicit state(environment::state& opened) : store(opened) {
        jobs.reserve(base::limits::commands_per_commit_max);
    }

    void run();
    void line_up(ticket_queue::line more);
    void commit_group();
    void gather();
    void answer(std::size_t count);

    environment::state& store;
    ticket_queue queue;
    std::atomic<bool> stopping{false};
    std::atomic<std::uint64_t> commits{0}, commands{0}, refused{0};
    std::mutex stop_mutex;
    std::thread thread;

    // The writer's own.
    ticket* waiting = nullptr;  // taken from the queue, not answered yet; oldest first
    ticket* last = nullptr;     // of those
    bool closed = false;
    bool purging = true;  // another process may have left some, so the first turn looks
    std::vector<job> jobs;
};

void writer::state::run() {
    for (;;) {
        if (!closed) line_up(queue.take());
        if (waiting != nullptr) {
            commit_group();
        } else if (closed) {
            return;
        } else if (stopping) {
            // From here on nothing comes in; what came in before is still answered.
            line_up(queue.take_and_close());
            closed = true;
        } else if (purging) {
            auto const result = apply_group(store, {}, purge_posts_max);
            purging = more_to_remove(result);
            if (result.committed) ++commits;
        } else {
            queue.sleep(stopping);
            purging = true;  // something may have expired meanwhile
        }
    }
}

void writer::state::line_up(ticket_queue::line more) {
    if (more.oldest == nullptr) return;
    (waiting == nullptr ? waiting : last->behind) = more.oldest;
    last = more.newest;
}

void writer::state::commit_group() {
    gather();
    auto const result = apply_group(store, jobs, purge_beside_commands);
    purging = more_to_remove(result);
    if (result.committed) ++commits;
    answer(result.done);
}

// The oldest of those that wait, as many as a group may hold; they stay in line.
void writer::state::gather() {
    namespace limits = base::limits;
    jobs.clear();
    std::size_t bytes = 0;
    for (auto* each = waiting; each != nullptr; each = each->behind) {
        bytes += each->command.bytes();
        bool const full = jobs.size() == limits::commands_per_commit_max ||
                          bytes > limits::command_bytes_per_commit_max;
        if (full && !jobs.empty()) return;
        jobs.push_back({&each->command, &each->outcome});
    }
}

void writer::state::answer(std::size_t count) {
    std::size_t bytes = 0, problems = 0;
    auto* each = waiting;
    for (std::size_t i = 0; i < count; ++i, each = each->behind) {
        bytes += each->command.bytes();
        if (each->outcome.problem != base::problem::none) ++problems;
    }
    commands += count;
    refused += problems;
    queue.forget(count, bytes);
    for (std::size_t i = 0; i < count; ++i) {
        auto& done = *waiting;
        waiting = done.behind;
        done.home->post(done);  // its frame may be gone before this returns
    }
}

writer::writer(environment& store) : state_(std::make_unique<state>(store.native())) {
    // Signals are the main thread's.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    state_->thread = std::thread([state = state_.get()] { state->run(); });
    ::pthread_setname_np(state_->thread.native_handle(), "latchkey-writer");
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

writer::~writer() {
    stop();
}

bool writer::submit(ticket& waiting) {
    base::check(waiting.home != nullptr, "a ticket that nobody waits for");
    return state_->queue.push(waiting);
}

void writer::stop() {
    std::lock_guard const lock(state_->stop_mutex);
    if (!state_->thread.joinable()) return;
    state_->stopping = true;
    state_->queue.wake();
    state_->thread.join();
}

writer::counters writer::count() const {
    return {state_->commits, state_->commands, state_->refused};
}

base::result<std::vector<outcome>> apply(environment& store, std::vector<command> commands) {
    base::check(commands.size() <= 64, "more commands than one call applies");
    std::vector<outcome> outcomes(commands.size());
    std::vector<job> jobs;
    jobs.reserve(commands.size());
    for (std::size_t i = 0; i < commands.size(); ++i) jobs.push_back({&commands[i], &outcomes[i]});
    bool more_to_purge = false;
    for (std::span<job const> rest = jobs; !rest.empty();) {
        auto const result = apply_group(store.native(), rest, 0);
        if (result.failure != 0) return lmdb_error("cannot write the store", result.failure);
        rest = rest.subspan(result.done);
        more_to_purge = result.more_to_purge;
    }
    // The server, if one runs, does the same with its next groups; this does not wait for them.
    while (more_to_purge) {
        auto const result = apply_group(store.native(), {}, purge_posts_max);
        more_to_purge = result.more_to_purge && result.failure == 0;
    }
    return outcomes;
}

}  // namespace latchkey::store
