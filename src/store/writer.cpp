#include "store/writer.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/time_units.hpp"
#include "store/engine/lmdb_value.hpp"
#include "store/write/group.hpp"
#include "store/write/ticket_queue.hpp"

namespace latchkey::store {
namespace {

// Posts of deleted users, and expired outcomes, that are removed with each group of commands: about
// a millisecond's work for each kind.
constexpr std::size_t purge_beside_commands = 256;
constexpr std::chrono::milliseconds lock_retry_interval(20);

bool has_more_to_remove(group_result const& result) {
    return (result.more_to_purge || result.more_expired) && result.failure == 0;
}

}  // namespace

struct writer::state {
    explicit state(environment_state& environment) : store(environment) {
        jobs.reserve(base::limits::commands_per_commit_max);
        store.lock_patience = base::limits::write_lock_patience_ns;
    }

    void run();
    void enqueue(ticket_queue::batch more);
    void commit_group();
    void collect_jobs();
    void complete(std::size_t count);
    void begin_lockout();
    void wait_for_lock();
    void reject_all();

    environment_state& store;
    ticket_queue queue;
    std::atomic<bool> stopping{false};
    std::atomic<base::mono_ns> locked_out_since{0};  // start of the lockout; 0: none
    std::atomic<std::uint64_t> commits{0}, commands{0}, refused{0};
    std::array<std::atomic<std::uint64_t>, group_sizes> groups{};
    std::mutex stop_mutex;
    std::thread thread;

    // Of the writer's thread:
    ticket* waiting = nullptr;  // taken from the queue, not answered; oldest first
    ticket* last = nullptr;     // of those
    bool closed = false;
    bool purging = true;  // another process may have left posts, so the first turn checks
    std::vector<job> jobs;
};

void writer::state::run() {
    for (;;) {
        if (locked_out_since != 0 && !closed) wait_for_lock();
        if (!closed) enqueue(queue.take());
        if (waiting != nullptr) {
            commit_group();
        } else if (closed) {
            return record_time(store);  // store time continues from here at the next start
        } else if (stopping) {
            // Nothing is accepted any more; what was accepted is still answered.
            enqueue(queue.close());
            closed = true;
        } else if (purging) {
            auto const result = apply_group(store, {}, purge_posts_max);
            purging = has_more_to_remove(result);
            if (result.committed) ++commits;
            if (result.failure == EBUSY) begin_lockout();
        } else {
            purging = queue.sleep(stopping);  // something may have expired within that minute
        }
    }
}

void writer::state::enqueue(ticket_queue::batch more) {
    if (more.oldest == nullptr) return;
    (waiting == nullptr ? waiting : last->next) = more.oldest;
    last = more.newest;
}

void writer::state::commit_group() {
    collect_jobs();
    auto const result = apply_group(store, jobs, purge_beside_commands);
    purging = has_more_to_remove(result);
    if (result.committed) ++commits;
    if (result.committed && result.job_count != 0) ++groups[std::bit_width(result.job_count - 1)];
    complete(result.job_count);
    if (result.failure == EBUSY) begin_lockout();
}

void writer::state::begin_lockout() {
    if (locked_out_since != 0) return;
    locked_out_since = base::read_mono() - store.lock_patience;
    base::log(base::severity::warning,
              store.lock.holder() +
                  " has been writing to the store for seconds: writes are refused until it is "
                  "done; if it was stopped, continue or end it");
}

// Returns when the lock is free or the writer stops.
void writer::state::wait_for_lock() {
    while (!stopping) {
        reject_all();
        if (!store.lock.acquire(0)) {
            std::this_thread::sleep_for(lock_retry_interval);
            continue;
        }
        store.lock.release();
        locked_out_since = 0;
        purging = true;
        base::log("the store can be written again");
        return;
    }
    enqueue(queue.close());
    closed = true;
    reject_all();
}

void writer::state::reject_all() {
    if (!closed) enqueue(queue.take());
    std::size_t count = 0;
    for (auto* each = waiting; each != nullptr; each = each->next, ++count)
        each->outcome = {.problem = base::problem::store_busy};
    complete(count);
}

// Makes jobs of the oldest tickets, as many as a group may hold; the tickets stay in the list.
void writer::state::collect_jobs() {
    namespace limits = base::limits;
    jobs.clear();
    std::size_t bytes = 0;
    for (auto* each = waiting; each != nullptr; each = each->next) {
        bytes += each->command.bytes();
        bool const full = jobs.size() == limits::commands_per_commit_max ||
                          bytes > limits::command_bytes_per_commit_max;
        if (full && !jobs.empty()) return;
        jobs.push_back({&each->command, &each->outcome});
    }
}

void writer::state::complete(std::size_t count) {
    std::size_t bytes = 0, problems = 0;
    auto* each = waiting;
    for (std::size_t i = 0; i < count; ++i, each = each->next) {
        bytes += each->command.bytes();
        if (each->outcome.problem != base::problem::none) ++problems;
    }
    commands += count;
    refused += problems;
    queue.release(count, bytes);
    for (std::size_t i = 0; i < count; ++i) {
        auto& finished = *waiting;
        waiting = finished.next;
        finished.executor->post(finished);  // its frame may be destroyed before this returns
    }
}

writer::writer(environment& store) : state_(std::make_unique<state>(store.native())) {
    // Signals are handled by the main thread.
    sigset_t all, saved;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &saved);
    state_->thread = std::thread([state = state_.get()] { state->run(); });
    ::pthread_setname_np(state_->thread.native_handle(), "latchkey-writer");
    ::pthread_sigmask(SIG_SETMASK, &saved, nullptr);
}

writer::~writer() {
    stop();
}

bool writer::submit(ticket& ticket) {
    base::check(ticket.executor != nullptr, "a ticket without an executor");
    return state_->locked_out_since == 0 && state_->queue.push(ticket);
}

base::problem writer::refusal() const {
    return state_->locked_out_since != 0 ? base::problem::store_busy : base::problem::overloaded;
}

std::string writer::lockout() const {
    base::mono_ns const start = state_->locked_out_since;
    if (start == 0) return {};
    auto const seconds = (base::read_mono() - start) / base::second;
    return state_->store.lock.holder() + " has held the write lock for " + std::to_string(seconds) +
           " s";
}

void writer::shorten_waits() {
    state_->store.lock.shorten_waits();
}

void writer::stop() {
    std::lock_guard const lock(state_->stop_mutex);
    if (!state_->thread.joinable()) return;
    state_->stopping = true;
    state_->queue.wake();
    state_->thread.join();
}

writer::counters writer::count() const {
    counters now{state_->commits, state_->commands, state_->refused, {}};
    for (std::size_t i = 0; i < group_sizes; ++i) now.groups[i] = state_->groups[i];
    return now;
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
        rest = rest.subspan(result.job_count);
        more_to_purge = result.more_to_purge;
    }
    // A running server would do the same with its next groups; this does not wait for that.
    while (more_to_purge) {
        auto const result = apply_group(store.native(), {}, purge_posts_max);
        more_to_purge = result.more_to_purge && result.failure == 0;
    }
    return outcomes;
}

}  // namespace latchkey::store
