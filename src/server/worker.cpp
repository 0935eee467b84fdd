// The order of a turn is fixed, and its header says it; here each part takes a share of one budget,
// and what it leaves waits in `mail_`, in `ready_` from `next_ready_` on, or in the queues.
// Completions run in batches, whose requests are looked at ahead so that their records are in the
// cache. Other threads only post closures.
#include "server/worker.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "auth/key_form.hpp"
#include "base/prefetch.hpp"
#include "server/process/cores.hpp"

namespace latchkey::server {
namespace {

// Its memory and its interrupts stay on one core.
void pin(unsigned index) {
    auto const core = core_of(index);
    if (!core) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(*core, &one);
    sched_setaffinity(0, sizeof one, &one);
}

}  // namespace

worker::worker(common& shared, unsigned index, worker_config initial, worker_options options)
    : context_(shared, std::move(initial), options),
      admission_(context_),
      balancer_(context_, admission_),
      index_(index),
      use_reporter_(context_, uses_) {
    ready_.reserve(worker_context::receive_buffers);  // a busier turn allocates nothing
}

worker::~worker() {
    if (thread_.joinable()) thread_.join();
}

// ---- the turn

void worker::turn() {
    context_.check_thread();
    auto& context = context_;
    auto& mailbox = context.mailbox();
    bool const block = may_block() && mailbox.may_sleep();
    if (block) snapshot_->reset();  // a sleeping thread pins no page of the store
    context.ring().enter(block, next_deadline());
    mailbox.awake();
    context.now = base::read_clocks();
    // Before the snapshot is renewed: under a lease it shows all that was turned off by now.
    if (auto const* const node = context.shared.node) {
        services_->boot = cluster::read_boot();
        services_->lease_over = !node->holds_lease(services_->boot);
        context.tokens.begin_turn();
    }
    context.recorder.begin_turn();
    if (mail_ == nullptr) mail_ = mailbox.take();
    snapshot_->renew();
    keys_->follow(*snapshot_);
    context.now.wall = snapshot_->time_at(context.now);
    context.events.turn(*snapshot_, context.draining() || services_->lease_over, context.now.mono);
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(next_ready_));
    next_ready_ = 0;
    context.ring().collect(ready_);

    // Each has a share, so that none keeps the others from their turn.
    auto& budget = context.budget;
    auto const is_spent = [&budget] { return budget.is_spent(); };
    budget.begin(context.now.mono);
    budget.allow(1, 2);
    read_mail();
    budget.allow(context.queues.has_resumed() ? 3 : 4, 4);
    run_completions();
    budget.allow(1, 1);
    context.queues.run_resumed(is_spent);
    context.queues.run_handshakes(handshakes_per_turn_max, is_spent);
    use_reporter_.report_if_full();
    if (balancer_.due() != 0 && context.now.mono >= balancer_.due()) balancer_.flush_waiting();
    // Input that waits for a buffer, or in a completion, may be a request.
    bool const all_asked = !context.queues.has_starved() && next_ready_ == ready_.size();
    if (all_asked && context.drain.count_turn()) admission_.end_idle();
    context.buffers().publish();
    feed_starved();
    context.queues.flush_dirty();
    context.timers().expire(context.now.mono);
    keys_->forget_text();  // it must not lie in memory while the thread sleeps
    tokens_->forget_text();
    if (context.memory.scarce()) admission_.relieve_memory();
    context.recorder.log().turn(context.now.mono);
    publish_gauges();
}

bool worker::may_block() const {
    return mail_ == nullptr && next_ready_ == ready_.size() && context_.queues.idle() &&
           !context_.drain.counting() && !context_.has_completions();
}

base::mono_ns worker::next_deadline() {
    auto soonest = context_.timers().next();
    auto const relief = context_.memory.scarce() ? admission_.next_relief() : 0;
    for (auto const due :
         {context_.recorder.log().due(), balancer_.due(), context_.events.due(), relief})
        if (due != 0 && (soonest == 0 || due < soonest)) soonest = due;
    return soonest;
}

void worker::read_mail() {
    while (mail_ != nullptr) {
        auto* const next = mail_->next.load(std::memory_order_relaxed);
        std::exchange(mail_, next)->resume();
        if (context_.budget.is_spent()) break;
    }
}

void worker::run_completions() {
    auto& ahead = context_.ahead;
    auto const end = std::min(ready_.size(), completions_per_turn_max);
    bool is_spent = false;
    auto const responses = context_.recorder.small_responses_in_turn();
    ahead.begin_run();
    while (next_ready_ < end && !is_spent) {
        auto const batch_end = std::min(end, next_ready_ + read_ahead::batch_max);
        ahead.prefetch({ready_.data() + next_ready_, batch_end - next_ready_});
        while (next_ready_ < batch_end && !is_spent) {
            auto const cqe = ready_[next_ready_++];
            if (next_ready_ + 1 < end) base::prefetch(ready_[next_ready_ + 1].op, 1);
            cqe.deliver();
            is_spent = context_.budget.is_spent();
        }
    }
    context_.metrics.completions.add(next_ready_);
    ahead.end_run(context_.recorder.small_responses_in_turn() != responses);
}

// Only once half of the buffers are free: a receive armed on an empty ring fails at once.
void worker::feed_starved() {
    auto const& buffers = context_.buffers();
    if (!context_.queues.has_starved() || buffers.available() < buffers.count() / 2) return;
    context_.queues.feed_starved(buffers.available());
}

void worker::publish_gauges() {
    auto const& keys = keys_->count();
    auto const& tokens = tokens_->count();
    auto& metrics = context_.metrics;
    auto& memory = context_.memory;
    metrics.turns.add();
    metrics.ring_refusals.set(context_.ring().refused());
    metrics.in_flight.set(context_.identified_requests());
    metrics.connections.set(context_.connections.count());
    metrics.event_streams.set(context_.streams.open());
    metrics.anonymous.set(context_.anonymous.count());
    metrics.held_bytes.set(memory.used());
    memory.note_peak();
    metrics.held_bytes_most.set(memory.peak());
    metrics.free_buffers.set(context_.buffers().available());
    metrics.cache_hits.set(keys.hits);
    metrics.cache_misses.set(keys.misses);
    metrics.cache_unknown.set(keys.unknown);
    metrics.cache_malformed.set(keys.malformed);
    metrics.cache_dropped.set(keys.evictions);
    metrics.token_hits.set(tokens.hits);
    metrics.tokens_verified.set(tokens.verified);
    metrics.tokens_refused.set(tokens.refusals);
}

// ---- from other threads

void worker::set_peers(std::vector<worker*> const& peers) {
    std::vector<connection_balancer*> balancers;
    for (auto* const each : peers) balancers.push_back(&each->balancer_);
    post([this, balancers = std::move(balancers)] { balancer_.set_peers(balancers); });
}

void worker::stop_accepting(std::vector<int> const& queues) {
    post([this, queues] {
        context_.accepting = false;
        balancer_.flush_waiting();
        for (auto const& each : acceptors_) {
            if (std::ranges::find(queues, each->socket()) != queues.end()) each->leave_queue();
            each->cancel();
        }
    });
}

void worker::begin_accepting() {
    post([this] {
        context_.accepting = true;
        for (auto const& each : acceptors_) each->arm();
    });
}

void worker::drain(drain_state::kind kind) {
    post([this, kind] { context_.drain.start(kind); });
}

void worker::abort_all() {
    post([this] { admission_.abort(); });
}

void worker::use(worker_config next, std::function<void()> callback) {
    post([this, next = std::move(next), callback = std::move(callback)] {
        context_.adopt(next);
        make_services();
        callback();
    });
}

void worker::make_services() {
    auto const& issuers = context_.configuration.issuers;
    tokens_->use(issuers);
    auto& shared = context_.shared;
    // A reload comes in the middle of a turn, and must not give a lease.
    bool const is_node = shared.node != nullptr;
    bool const lease_over = services_ != nullptr ? services_->lease_over : is_node;
    services_ = std::make_unique<api::request_services>(api::request_services{
        context_.configuration.rules->interface, *snapshot_, *keys_, *leases_, shared.failures,
        shared.cursors, random_, shared.running, &uses_, is_node, lease_over, purse_.get(),
        &context_.streams,
        context_.configuration.rules->interface.console ? shared.sessions.get() : nullptr,
        shared.report ? &shared.report : nullptr, issuers ? tokens_.get() : nullptr,
        is_node ? cluster::read_boot() : 0});
    context_.sessions.services = services_.get();
}

void worker::finish() {
    post([this] { finishing_ = true; });
    if (thread_.joinable()) thread_.join();
}

// ---- the thread

base::result<void> worker::start(std::vector<listener> const& listeners) {
    std::atomic<int> started{0};
    base::error failure;
    thread_ = std::thread(
        [this, &listeners, &started, &failure] { thread_main(&listeners, &started, &failure); });
    started.wait(0);
    if (started.load() == 1) {
        if (context_.shared.reporter) context_.shared.reporter->enter(context_.metrics);
        return {};
    }
    thread_.join();
    return failure;
}

void worker::thread_main(std::vector<listener> const* listeners, std::atomic<int>* started,
                         base::error* failure) {
    pthread_setname_np(pthread_self(), ("worker-" + std::to_string(index_)).c_str());
    pin(index_);
    coro::frame_pool::installation const pooled(frames_);
    auto const ready = set_up(*listeners);
    if (!ready) *failure = ready.error();
    started->store(ready ? 1 : 2);
    started->notify_one();
    if (ready) turn_until_finished();
}

base::result<void> worker::run(std::vector<listener> const& listeners) {
    coro::frame_pool::installation const pooled(frames_);
    if (auto const ready = set_up(listeners); !ready) return ready;
    turn_until_finished();
    return {};
}

void worker::turn_until_finished() {
    auto const accepts = [this] {
        return std::any_of(acceptors_.begin(), acceptors_.end(),
                           [](auto const& each) { return each->active(); });
    };
    auto const runs = [this] { return admission_.running() != 0 || use_reporter_.running() != 0; };
    while (!finishing_ || runs() || accepts()) turn();
    use_reporter_.report_rest([this] { turn(); });
    context_.mailbox().close();
    while (!context_.mailbox().idle() || mail_ != nullptr || runs()) turn();
    context_.recorder.log().flush();
    acceptors_.clear();
    services_.reset();
    snapshot_.reset();
    context_.close();
}

base::result<void> worker::set_up(std::vector<listener> const& listeners) {
    if (auto const result = context_.open(); !result) return result;
    snapshot_ = std::make_unique<domain::snapshot>(context_.shared.store);
    keys_ = std::make_unique<auth::cache>();
    tokens_ = std::make_unique<auth::bearer_cache>(*keys_);
    leases_ = std::make_unique<limit::leases>(context_.shared.buckets);
    if (context_.shared.quota != nullptr)
        purse_ = std::make_unique<cluster::quota_purse>(*context_.shared.quota);
    auth::random_bytes(&random_, sizeof random_);
    auto& mask = context_.sessions.mask.bytes;
    auth::random_bytes(mask.data(), mask.size());
    context_.ahead.use(*snapshot_);
    make_services();
    use_reporter_.report();
    for (auto const& each : listeners)
        acceptors_.push_back(std::make_unique<acceptor>(context_, admission_, balancer_, each));
    for (auto const& each : acceptors_) each->arm();
    return {};
}

}  // namespace latchkey::server
