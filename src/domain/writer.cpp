// One thread loops: it takes the queue's tickets into a list of its own, decides a group from the
// front of it, and posts each ticket to its executor. Without work it removes what has expired,
// then sleeps. A failure that lasts becomes a lockout, in which everything is refused at once until
// the store can be written.
#include "domain/writer.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "base/time_units.hpp"
#include "domain/writer/confirmation.hpp"
#include "domain/writer/group.hpp"
#include "domain/writer/replica.hpp"
#include "domain/writer/ticket_queue.hpp"
#include "store/commit_fate.hpp"

namespace latchkey::domain {
namespace {

// Posts of deleted users, and expired outcomes, that are removed with each group of commands: about
// a millisecond's work for each kind.
constexpr std::size_t purge_beside_commands = 256;
constexpr std::chrono::milliseconds lock_retry_interval(20);
constexpr base::mono_ns fullness_report_interval = 60 * base::second;

bool has_more_to_remove(group_result const& result) {
    return (result.more_to_purge || result.more_expired) && result.failure.ok();
}

// Does a failure last until something outside changes? A log that is away does not count: each
// group asks again.
bool is_lasting(commit_result const& failure) {
    return failure == EBUSY || failure == commit_fate::rows_blocked ||
           failure == commit_fate::row_newer || failure == commit_fate::log_missing;
}

base::problem refusal_for(commit_result const& lockout) {
    return lockout == EBUSY ? base::problem::store_busy : base::problem::behind;
}

}  // namespace

struct writer::state {
    explicit state(environment_state& environment) : store(environment) {
        jobs.reserve(base::limits::commands_per_commit_max);
        store.lock_patience = base::limits::write_lock_patience_ns;
    }

    void run();
    bool follow();
    bool await_own_row();
    void keep_group(std::size_t count);
    bool is_writable();
    void enqueue(ticket_queue::batch more);
    void commit_group();
    void collect_jobs();
    void report_fullness(std::size_t count);
    void complete(std::size_t count);
    void begin_lockout(commit_result const& failure);
    void wait_for_lock();
    void reject_all(base::problem problem);

    environment_state& store;
    ticket_queue queue;
    std::atomic<bool> stopping{false};
    std::atomic<bool> hurried{false};  // the workers' end waits for what is still unanswered
    std::atomic<base::mono_ns> locked_out_since{0};  // start of the lockout; 0: none
    std::atomic<commit_result> lockout_failure;      // EBUSY, or why a node is behind
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
    base::mono_ns next_fullness_report = 0;
    std::optional<domain::replica> replica;  // of a node
};

void writer::state::run() {
    for (;;) {
        if (locked_out_since != 0 && !closed) wait_for_lock();
        if (!closed) enqueue(queue.take());
        if (replica && !follow()) continue;
        if (waiting != nullptr) {
            commit_group();
        } else if (closed) {
            replica.reset();
            return record_time(store);  // store time continues from here at the next start
        } else if (stopping) {
            // Nothing is accepted any more; what was accepted is still answered.
            enqueue(queue.close());
            closed = true;
        } else if (purging) {
            auto const result = apply_group(store, {}, purge_posts_max);
            purging = has_more_to_remove(result);
            if (result.committed) ++commits;
            if (is_lasting(result.failure)) begin_lockout(result.failure);
            if (result.unresolved) keep_group(0);
        } else {
            // Something may have expired within that minute.
            purging = replica ? replica->sleep(stopping) : queue.sleep(stopping);
        }
    }
}

// A node's part of a turn: rows of others, tickets that wait. False: nothing may be decided now,
// and it has waited for that.
bool writer::state::follow() {
    replica->answer(closed || hurried);
    if (replica->has_kept() && !await_own_row()) return false;
    // A group's transaction begins with the rows.
    if (waiting != nullptr || closed) return true;
    if (auto const result = apply_arrived_rows(store); !result.ok()) begin_lockout(result);
    replica->answer(closed);
    return true;
}

// Asks for the fate of the kept group's row. False: it is not known yet.
bool writer::state::await_own_row() {
    auto const group = replica->settle(closed || hurried);
    if (group.result == append_result::unknown) {
        if (replica->is_overdue()) reject_all(base::problem::behind);
        if (stopping && !closed) {
            enqueue(queue.close());
            closed = true;
        }
        if (closed)
            std::this_thread::sleep_for(lock_retry_interval);
        else
            replica->sleep(stopping);
        return false;
    }
    if (group.tickets.oldest != nullptr) {
        group.tickets.newest->next = waiting;
        if (waiting == nullptr) last = group.tickets.newest;
        waiting = group.tickets.oldest;
    }
    // A row that has won is applied before its commands are answered, so that this node shows it.
    if (group.result == append_result::won)
        if (auto const result = apply_arrived_rows(store); !result.ok()) begin_lockout(result);
    if (group.result != append_result::lost) complete(group.count);
    return true;
}

void writer::state::keep_group(std::size_t count) {
    ticket_queue::batch group;
    for (std::size_t i = 0; i < count; ++i) {
        group.newest = waiting;
        if (i == 0) group.oldest = waiting;
        waiting = waiting->next;
    }
    if (group.newest != nullptr) group.newest->next = nullptr;
    replica->keep(group, count);
}

void writer::state::enqueue(ticket_queue::batch more) {
    if (replica) more = replica->without_waits(more);
    if (more.oldest == nullptr) return;
    (waiting == nullptr ? waiting : last->next) = more.oldest;
    last = more.newest;
}

void writer::state::commit_group() {
    auto const collect = [this] {
        collect_jobs();
        return std::span<job const>(jobs);
    };
    auto const result = apply_group(store, collect, purge_beside_commands);
    purging = has_more_to_remove(result);
    if (result.committed) ++commits;
    if (result.committed && result.job_count != 0) ++groups[std::bit_width(result.job_count - 1)];
    if (result.unresolved) return keep_group(result.job_count);
    report_fullness(result.job_count);
    complete(result.job_count);
    if (is_lasting(result.failure)) begin_lockout(result.failure);
}

void writer::state::report_fullness(std::size_t count) {
    bool const is_full = std::ranges::any_of(std::span(jobs).first(count), [](job const& each) {
        return each.outcome->problem == base::problem::storage_full;
    });
    auto const now = base::read_mono();
    if (!is_full || now < next_fullness_report) return;
    next_fullness_report = now + fullness_report_interval;
    auto const mib = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
    base::log(base::severity::warning,
              "the store is full, and writes are answered with 507: of " + mib(store.map_bytes) +
                  " (store.map_mib, less where the disk is full) changes take " +
                  mib(store.changes_bytes) + "; the oldest of them go, " +
                  std::to_string(store.changes_trimmed) + " so far");
}

void writer::state::begin_lockout(commit_result const& failure) {
    if (locked_out_since != 0) return;
    bool const is_locked = failure == EBUSY;
    lockout_failure = failure;
    locked_out_since = base::read_mono() - (is_locked ? store.lock_patience.load() : 0);
    if (!is_locked)
        return base::log(
            base::severity::warning,
            failure_error("this node is behind its cluster, and refuses writes", failure).message);
    base::log(base::severity::warning,
              store.lock.holder() +
                  " has been writing to the store for seconds: writes are refused until it is "
                  "done; if it was stopped, continue or end it");
}

bool writer::state::is_writable() {
    if (lockout_failure.load() != EBUSY) return apply_arrived_rows(store).ok();
    if (!store.lock.acquire(0)) return false;
    store.lock.release();
    return true;
}

// Returns when the lock is free, the missing rows are applied, or the writer stops.
void writer::state::wait_for_lock() {
    auto const problem = refusal_for(lockout_failure);
    while (!stopping) {
        reject_all(problem);
        if (replica) replica->answer(false);
        if (!is_writable()) {
            std::this_thread::sleep_for(lock_retry_interval);
            continue;
        }
        locked_out_since = 0;
        purging = true;
        base::log("the store can be written again");
        return;
    }
    enqueue(queue.close());
    closed = true;
    reject_all(problem);
}

void writer::state::reject_all(base::problem problem) {
    if (!closed) enqueue(queue.take());
    std::size_t count = 0;
    for (auto* each = waiting; each != nullptr; each = each->next, ++count)
        each->outcome = {.problem = problem};
    complete(count);
}

// Makes jobs of the oldest tickets, as many as a group may hold; the tickets stay in the list.
void writer::state::collect_jobs() {
    namespace limits = base::limits;
    if (!closed) enqueue(queue.take());
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
        if (replica && replica->hold_unconfirmed(finished)) continue;
        finished.executor->post(finished);  // its frame may be destroyed before this returns
    }
}

writer::writer(environment& store) : state_(std::make_unique<state>(store.native())) {
    if (state_->store.log != nullptr) state_->replica.emplace(state_->store, state_->queue);
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
    return state_->locked_out_since != 0 ? refusal_for(state_->lockout_failure)
                                         : base::problem::overloaded;
}

std::string writer::lockout() const {
    base::mono_ns const start = state_->locked_out_since;
    if (start == 0) return {};
    if (auto const failure = state_->lockout_failure.load(); failure != EBUSY)
        return failure_error("this node is behind its cluster", failure).message;
    auto const seconds = (base::read_mono() - start) / base::second;
    return state_->store.lock.holder() + " has held the write lock for " + std::to_string(seconds) +
           " s";
}

void writer::shorten_waits() {
    state_->store.lock.shorten_waits();
    state_->hurried = true;
    state_->queue.wake();
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
    // Commands split their lists.
    base::check(commands.size() <= 64, "more commands than one call applies");
    std::vector<outcome> outcomes(commands.size());
    std::vector<job> jobs;
    jobs.reserve(commands.size());
    for (std::size_t i = 0; i < commands.size(); ++i) jobs.push_back({&commands[i], &outcomes[i]});
    auto& state = store.native();
    if (state.unapplied_row) await_own_row(state);  // of an earlier call
    bool more_to_purge = false;
    for (std::span<job const> rest = jobs; !rest.empty();) {
        auto result = apply_group(state, rest, 0);
        if (result.unresolved) {
            auto const fate = await_own_row(state);
            if (fate == append_result::won) result.failure = {};
            if (fate == append_result::lost || fate == append_result::unavailable) continue;
        }
        if (!result.failure.ok()) return failure_error("cannot write the store", result.failure);
        rest = rest.subspan(result.job_count);
        more_to_purge = result.more_to_purge;
    }
    // A running server would do the same with its next groups; this does not wait for that.
    while (more_to_purge) {
        auto const result = apply_group(state, {}, purge_posts_max);
        more_to_purge = result.more_to_purge && result.failure.ok();
    }
    await_confirmation(state, commands, outcomes);
    return outcomes;
}

}  // namespace latchkey::domain
