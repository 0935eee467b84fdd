// All state is in `link`, behind one mutex; each function locks it, changes state or sends a
// message, and those that need an answer wait on a condition for the thread that reads the socket.
// The thread sleeps in poll, with an eventfd as its bell. Answers that do not come in time are
// `unknown`, and the store asks again by `resolve`.
#include "cluster/node.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/system/poll_until.hpp"
#include "base/time_units.hpp"
#include "cluster/helper_client.hpp"

namespace latchkey::cluster {
namespace {

using lock = std::unique_lock<std::mutex>;

// Beyond, what became of a row is asked for again (`resolve`), and clients go on waiting.
constexpr base::mono_ns append_patience = 5 * base::second;
constexpr base::mono_ns fetch_patience = 2 * base::second;
constexpr base::mono_ns look_interval = 50 * base::millisecond;

}  // namespace

node::node(base::descriptor socket, node_options options)
    : link_(std::make_unique<helper_client>(std::move(socket), std::move(options), lease_end_)) {
    if (link_->options.time) return;
    // Signals are handled by the main thread.
    sigset_t all, saved;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &saved);
    link_->thread = std::thread([this] { run(); });
    ::pthread_setname_np(link_->thread.native_handle(), "latchkey-node");
    ::pthread_sigmask(SIG_SETMASK, &saved, nullptr);
}

node::~node() {
    {
        lock const mutex_lock(link_->mutex);
        link_->stopping = true;
    }
    link_->wake_thread();
    if (link_->thread.joinable()) link_->thread.join();
}

void node::run() {
    auto& link = *link_;
    for (;;) {
        short events = 0;
        base::mono_ns pause = look_interval;
        {
            lock const mutex_lock(link.mutex);
            if (link.stopping || link.closed) return;
            if (!link.is_full()) events |= POLLIN;
            if (link.channel.unsent_bytes() != 0) events |= POLLOUT;
            pause = std::min(pause, link.next_ask_time() - read_boot());
        }
        pollfd sources[] = {{link.channel.descriptor(), events, 0}, {link.wakes.get(), POLLIN, 0}};
        base::poll_until(sources, base::read_mono() + pause);
        std::uint64_t calls = 0;
        [[maybe_unused]] auto const size = ::read(link.wakes.get(), &calls, sizeof calls);
        turn();
    }
}

void node::turn() {
    auto& link = *link_;
    lock const mutex_lock(link.mutex);
    if (auto const progress = link.channel.flush(); !progress) link.closed = progress.error();
    link.receive_all();
    link.report_applied();
    link.ask_for_tokens();
}

base::result<replicate::protocol::ready> node::join(base::mono_ns patience,
                                                    replicate::protocol::failure* failure) {
    auto& link = *link_;
    lock mutex_lock(link.mutex);
    link.wait(mutex_lock, patience, [&] {
        return link.engine.is_ready || link.engine.fatal || link.engine.has_no_cluster();
    });
    auto const& refusal = link.engine.fatal ? link.engine.fatal : link.engine.complaint;
    if (failure != nullptr && refusal && !link.engine.is_ready) *failure = refusal->reason;
    if (!link.is_usable()) return link.reason_of_silence();
    return *link.engine.last_ready;
}

void node::follow(std::uint64_t position, store::row_nonce const& nonce) {
    auto& link = *link_;
    lock const mutex_lock(link.mutex);
    link.followed.follow(position, nonce);
    link.applied.position = link.applied.reported = position;
    link.lease.reach(position);
    if (link.engine.is_ready) link.request_rows();
}

void node::begin_lease() {
    auto& link = *link_;
    lock const mutex_lock(link.mutex);
    link.wants_lease = true;
    link.try_begin_lease();
}

base::result<void> node::share_limits(std::uint64_t process) {
    auto& link = *link_;
    auto quota = cluster::quota::make(
        {.node = link.options.name, .process = process, .wake = [&link] { link.wake_thread(); }});
    if (!quota) return quota.error();
    lock const mutex_lock(link.mutex);
    link.tokens.quota = std::move(*quota);
    return {};
}

cluster::quota* node::quota() const {
    lock const mutex_lock(link_->mutex);
    return link_->tokens.quota.get();
}

void node::on_tokens(std::function<void()> wake) {
    std::lock_guard const mutex_lock(link_->wake_mutex);
    link_->wake_workers = std::move(wake);
}

void node::leave(base::mono_ns patience) {
    auto& link = *link_;
    lock mutex_lock(link.mutex);
    link.wants_lease = link.leases = false;
    link.lease.end();
    link.publish_lease();
    if (link.is_usable())
        link.call(mutex_lock, replicate::protocol::leave{link.options.name}, patience);
}

node_report node::report() const {
    auto& link = *link_;
    lock const mutex_lock(link.mutex);
    node_report result{.connected = link.engine.is_ready && link.engine.is_connected,
                       .engine = link.engine.text,
                       .failure = {},
                       .head = link.head,
                       .applied = link.applied.position,
                       .lease_end = link.lease.end_time(),
                       .appends = link.appends,
                       .lost = link.losses,
                       .unknown = link.unknowns,
                       .nodes = link.nodes,
                       .tokens = {},
                       .share_charges = 0};
    if (auto const& quota = link.tokens.quota) {
        result.tokens = quota->count();
        result.share_charges = quota->share_charges();
    }
    if (link.engine.fatal) result.failure = link.engine.fatal->text;
    if (link.closed) result.failure = link.closed->message;
    return result;
}

// ---- the store's log

store::append_result node::append(store::log_row const& row) {
    using enum store::append_result;
    auto& link = *link_;
    lock mutex_lock(link.mutex);
    if (!link.is_usable()) {
        link.release_position();
        return unavailable;
    }
    link.reserves = false;
    auto const answer = link.call(mutex_lock, replicate::protocol::append{row}, append_patience);
    auto const* const verdict =
        answer ? std::get_if<replicate::protocol::appended>(&*answer) : nullptr;
    auto const result = verdict != nullptr ? verdict->result : unknown;
    ++link.appends;
    if (result == lost) ++link.losses;
    if (result == unknown) ++link.unknowns;
    // Whoever changed a key waits for the others.
    if (row.urgent && (result == won || result == unknown)) link.watch(row.position);
    return result;
}

store::append_result node::resolve(store::log_row const& row) {
    using enum store::append_result;
    auto& link = *link_;
    lock mutex_lock(link.mutex);
    if (!link.is_usable()) return unknown;
    auto const answer = link.call(
        mutex_lock, replicate::protocol::resolve{row.position, row.nonce, row.schema, row.previous},
        append_patience);
    auto const* const verdict =
        answer ? std::get_if<replicate::protocol::appended>(&*answer) : nullptr;
    // It was in the log at some time: what is certain now is that it is there, or will never be.
    if (verdict == nullptr || verdict->result == unavailable) return unknown;
    // The helper continues after the won row, while this node may have dropped rows that arrived
    // before it: they are requested from the log again.
    if (verdict->result == won) link.request_rows();
    return verdict->result;
}

// Copies: a transaction that applies them may still be aborted, and the next one asks again.
std::vector<store::log_row> node::rows_after(std::uint64_t position, std::size_t bytes_max) {
    auto& link = *link_;
    lock const mutex_lock(link.mutex);
    // A command has written to this store beside the service.
    if (position > link.applied.position) link.note_applied(position, {}, true);
    link.followed.drop(position);
    std::vector<store::log_row> result;
    std::size_t bytes = 0;
    for (auto const& row : link.followed.rows()) {
        bytes += row.effects.size();
        if (!result.empty() && bytes > bytes_max) break;
        result.push_back(row);
    }
    return result;
}

// Takes the lock of the log's head for the next append of a writer that others compete with: nodes
// that write at the same time would decide most of their groups in vain.
bool node::fetch(std::uint64_t position) {
    auto& link = *link_;
    lock mutex_lock(link.mutex);
    auto const has_arrived = [&] {
        return !link.followed.rows().empty() && link.followed.rows().back().position > position;
    };
    if (!link.is_usable()) return has_arrived();
    auto const answer = link.call(
        mutex_lock, replicate::protocol::reserve{link.followed.position(), link.followed.nonce()},
        fetch_patience);
    auto const* const verdict =
        answer ? std::get_if<replicate::protocol::reserved>(&*answer) : nullptr;
    link.reserves = verdict == nullptr || verdict->granted;  // it may be granted later
    return has_arrived();
}

void node::release() {
    auto& link = *link_;
    lock const mutex_lock(link.mutex);
    link.release_position();
}

void node::applied(std::uint64_t position, store::row_nonce const& nonce, bool urgent) {
    auto& link = *link_;
    lock const mutex_lock(link.mutex);
    link.note_applied(position, nonce, urgent);
}

void node::watch(std::uint64_t position) {
    auto& link = *link_;
    lock const mutex_lock(link.mutex);
    if (position > link.watched) link.watch(position);
}

std::uint64_t node::confirmed() const {
    auto& link = *link_;
    lock const mutex_lock(link.mutex);
    return std::min(link.confirmed.position, link.applied.position);
}

base::wall_ms node::last_lease_end() const {
    auto& link = *link_;
    lock const mutex_lock(link.mutex);
    auto const now = link.now();
    auto const clock = link.options.time ? link.options.time->clock() : base::read_clocks().clock;
    // What is known of an earlier position says nothing of leases that were renewed since.
    bool const is_known = link.confirmed.lease_end != 0 && link.confirmed.watched >= link.watched;
    auto const end = is_known ? link.confirmed.lease_end
                              : now + link.options.lease_ms * base::millisecond + base::second;
    return clock + std::max<boot_ns>(end - now, 0) / base::millisecond;
}

void node::on_arrival(std::function<void()> wake) {
    std::lock_guard const mutex_lock(link_->wake_mutex);
    link_->wake = std::move(wake);
}

}  // namespace latchkey::cluster
