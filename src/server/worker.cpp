#include "server/worker.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>

#include "auth/key_form.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "base/prefetch.hpp"
#include "server/acceptor.hpp"
#include "server/connection.hpp"
#include "server/cores.hpp"
#include "server/key_uses.hpp"

namespace latchkey::server {
namespace {

constexpr std::uint32_t receive_buffers = 1024;
constexpr std::size_t spare_buffers_max = 256;
constexpr std::size_t spare_buffer_bytes_max = 64 * 1024;
constexpr unsigned answers_per_look = 8, small_bytes_max = 4096;
constexpr unsigned idle_turns = 2;
constexpr base::mono_ns shedding_pause = 100'000'000;

// Its memory and its interrupts stay near.
void pin(unsigned index) {
    auto const core = core_of(index);
    if (!core) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(*core, &one);
    sched_setaffinity(0, sizeof one, &one);
}

// Something for a worker to do between two of its turns.
struct errand : coro::resumption {
    std::function<void()> what;
};

}  // namespace

worker::worker(common& shared, unsigned index, supplies given)
    : shared_(shared), index_(index), given_(std::move(given)), log_(shared.log), balance_(*this) {
    // A turn that is busier than those before it allocates nothing.
    ready_.reserve(receive_buffers);
    for (auto* const list : {&again_, &batch_, &starved_}) list->reserve(receive_buffers);
    for (auto& ids : foreseen_) ids.reserve(looked_ahead_max);
}

worker::~worker() {
    if (thread_.joinable()) thread_.join();
}

// ---- the turn

void worker::turn() {
    bool const block = may_block() && mailbox_->may_sleep();
    if (block) snapshot_->reset();  // a sleeper pins no page of the store
    auto until = timers_->next();
    for (auto const due : {log_.due(), balance_.due()})
        if (due != 0 && (until == 0 || due < until)) until = due;
    ring_->enter(block, until);
    mailbox_->awake();
    now_ = base::read_clocks();
    answers_in_turn_ = 0;
    auto* mail = mailbox_->take();
    snapshot_->renew();
    keys_->follow(*snapshot_);
    ring_->collect(ready_);

    while (mail != nullptr) {
        auto* const next = mail->next.load(std::memory_order_relaxed);
        mail->go_on();
        mail = next;
    }
    run_ready();
    run_again();
    run_handshakes();
    if (reports_early_ && uses_.full()) report_uses();
    if (balance_.due() != 0 && now_.mono >= balance_.due()) balance_.settle();
    // Who waits for a buffer, or for his completion to be looked at, was not asked yet.
    bool const all_asked = starved_.empty() && next_ready_ == ready_.size();
    if (end_idle_in_ != 0 && all_asked && --end_idle_in_ == 0) end_idle();
    buffers_->publish();
    feed_starved();
    flush_dirty();
    timers_->expire(now_.mono);
    keys_->forget_text();  // it must not lie in memory while the thread sleeps
    if (held_ > held_bytes_max_ / 2) shed_hoarders();
    log_.turn(now_.mono);
    publish_gauges();
}

void worker::publish_gauges() {
    auto const& keys = keys_->count();
    metrics_.turns.add();
    metrics_.ring_refusals.set(ring_->refused());
    metrics_.in_flight.set(jobs_in_hand_);
    metrics_.held_bytes.set(static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(held_, 0)));
    metrics_.free_buffers.set(buffers_->lent());
    metrics_.cache_hits.set(keys.hits);
    metrics_.cache_misses.set(keys.misses);
    metrics_.cache_unknown.set(keys.unknown);
    metrics_.cache_malformed.set(keys.malformed);
    metrics_.cache_dropped.set(keys.dropped);
}

bool worker::may_block() const {
    return next_ready_ == ready_.size() && again_.empty() && handshakes_.empty() &&
           dirty_ == nullptr && end_idle_in_ == 0 && !ring_->has_completions();
}

void worker::run_ready() {
    auto const end = std::min(ready_.size(), next_ready_ + completions_per_turn_max);
    metrics_.completions.add(end - next_ready_);
    auto const searches = snapshot_->searches();
    auto const answers = answers_in_turn_;
    while (next_ready_ < end) {
        auto const part = std::min(end, next_ready_ + looked_ahead_max);
        if (looks_ahead_) look_ahead(part);
        for (; next_ready_ < part; ++next_ready_) {
            auto const done = ready_[next_ready_];
            if (next_ready_ + 2 < end) base::prefetch(ready_[next_ready_ + 2].op, 1);
            done.op->complete(*done.op, done.result, done.flags);
        }
    }
    if (next_ready_ == ready_.size()) ready_.clear(), next_ready_ = 0;
    if (answers_in_turn_ != answers) looks_ahead_ = snapshot_->searches() != searches;
}

// The records that the next requests are going to read come from memory all at once, not one after
// the other while each request waits for its own.
void worker::look_ahead(std::size_t end) {
    for (auto i = next_ready_; i < end; ++i) {
        auto const& next = ready_[i];
        if (next.op->foresee != nullptr) next.op->foresee(*next.op, next.result, next.flags);
    }
    for (auto const which : {store::resource::user, store::resource::post}) {
        auto& ids = foreseen_[static_cast<std::size_t>(which)];
        snapshot_->prefetch(which, ids);
        metrics_.foreseen.add(ids.size());
        ids.clear();
    }
}

void worker::run_again() {
    batch_.swap(again_);
    // By index: whoever ends meanwhile is struck out of the batch.
    for (std::size_t i = 0; i < batch_.size(); ++i)
        if (batch_[i] != nullptr) batch_[i]->resume_later();
    batch_.clear();
}

void worker::run_handshakes() {
    auto const count = std::min(handshakes_.size(), handshakes_per_turn_max);
    for (std::size_t i = 0; i < count; ++i)
        if (handshakes_[i] != nullptr) handshakes_[i]->handshake_step();
    handshakes_.erase(handshakes_.begin(),
                      handshakes_.begin() + static_cast<std::ptrdiff_t>(count));
}

void worker::flush_dirty() {
    while (dirty_ != nullptr) {
        auto* const io = dirty_;
        dirty_ = io->next_dirty_;
        io->flush();
    }
}

// First come, first served, and only once half the ring is free: re-arming on an empty ring fails
// at once.
void worker::feed_starved() {
    if (starved_.empty() || buffers_->lent() < buffers_->count() / 2) return;
    auto const count = std::min<std::size_t>(starved_.size(), buffers_->lent());
    for (std::size_t i = 0; i < count; ++i)
        if (starved_[i] != nullptr) starved_[i]->receive_again();
    starved_.erase(starved_.begin(), starved_.begin() + static_cast<std::ptrdiff_t>(count));
}

// Past its budget the worker refuses everyone's requests. Before it comes to that, those go who ask
// for much, do not read it, and have more than their share of what there is.
void worker::shed_hoarders() {
    if (now_.mono < next_shedding_) return;
    next_shedding_ = now_.mono + shedding_pause;  // it walks all connections
    auto const share = static_cast<std::size_t>(held_bytes_max_) / 2 / (connections() + 1);
    for (auto *io = open_, *next = io; io != nullptr; io = next) {
        next = io->next_open;
        if (io->hoards(share, now_.mono)) io->reset();
    }
}

// ---- for transports

void worker::add(transport& io) {
    io.next_open = open_;
    io.open_link = &open_;
    if (open_ != nullptr) open_->open_link = &io.next_open;
    open_ = &io;
    connection_count_.fetch_add(1, std::memory_order_relaxed);
}

void worker::remove(transport& io) {
    *io.open_link = io.next_open;
    if (io.next_open != nullptr) io.next_open->open_link = io.open_link;
    connection_count_.fetch_sub(1, std::memory_order_relaxed);
    if (io.counted()) shared_.open_by_address.leave(*io.counted());
}

void worker::mark_dirty(transport& io) {
    io.next_dirty_ = dirty_;
    dirty_ = &io;
}

void worker::forget(transport& io) {
    for (auto* const list : {&again_, &handshakes_, &starved_, &batch_})
        std::replace(list->begin(), list->end(), &io, static_cast<transport*>(nullptr));
    if (!io.dirty_) return;
    auto** link = &dirty_;
    while (*link != &io) link = &(*link)->next_dirty_;
    *link = io.next_dirty_;
}

std::string worker::take_buffer() {
    if (spare_.empty()) {
        std::string fresh;
        fresh.reserve(4096);
        return fresh;
    }
    auto taken = std::move(spare_.back());
    spare_.pop_back();
    return taken;
}

void worker::give_back(std::string&& buffer) {
    if (buffer.capacity() < 1024 || buffer.capacity() > spare_buffer_bytes_max ||
        spare_.size() >= spare_buffers_max) {
        std::string().swap(buffer);
        return;
    }
    buffer.clear();
    spare_.push_back(std::move(buffer));
}

std::unique_ptr<job> worker::take_job() {
    ++jobs_in_hand_;
    if (jobs_.empty()) return std::make_unique<job>();
    auto taken = std::move(jobs_.back());
    jobs_.pop_back();
    return taken;
}

void worker::give_back(std::unique_ptr<job> done) {
    --jobs_in_hand_;
    wipe_and_clear(done->head);
    wipe_and_clear(done->body);
    if (done->body.capacity() > spare_buffer_bytes_max) done->body.shrink_to_fit();
    if (jobs_.size() < spare_buffers_max) jobs_.push_back(std::move(done));
}

void worker::note(job const& done, api::peer const& from) {
    auto const& entry = done.entry;
    auto const* const exchange = entry.refused_unparsed ? nullptr : &done.exchange;
    // A look at the clock costs half of a log line: the small answers of a burst share one.
    if (entry.bytes_in + entry.bytes_out > small_bytes_max ||
        answers_in_turn_++ % answers_per_look == 0)
        answered_at_ = base::read_mono();
    auto const took = answered_at_ - entry.began.mono;
    metrics_.finished(exchange, entry.status, entry.code, took);
    metrics_.bytes_in.add(entry.bytes_in);
    metrics_.bytes_out.add(entry.bytes_out);
    if (log_.on()) append_line(entry, exchange, from, took, log_.lines(now_.mono));
}

void worker::accept(accepted socket, std::size_t expected) {
    bool const limited = shared_.open_by_address.on();
    if (aborting_ || connections() - expected >= connections_max() ||
        (limited && !may_enter(peer_of(socket.fd, socket.tls).client, socket.counted))) {
        io_uring_prep_close(ring_->submission(), socket.fd);
        metrics_.turned_down.add();
        return;
    }
    metrics_.accepted.add();
    // Who comes while the service ends may have sent a request before that: it is asked for.
    if (std::exchange(ends_idle_, false) || end_idle_in_ != 0) end_idle_in_ = idle_turns;
    connections_.spawn(serve, this, socket);
}

// Counted before it is asked whether the service ends: whoever waits for the last connection sees
// this one, or is seen here.
bool worker::take_over(accepted const& socket) {
    connection_count_.fetch_add(1);
    if (shared_.draining.load()) {
        connection_count_.fetch_sub(1);
        return false;
    }
    tell([this, socket] {
        accept(socket, 1);
        connection_count_.fetch_sub(1);
    });
    return true;
}

bool worker::may_enter(std::optional<model::address> const& client,
                       std::optional<model::address>& counted) {
    if (!shared_.open_by_address.on() || !client) return true;
    for (auto const& network : rules()->interface.trusted_proxies)
        if (network.contains(*client)) return true;
    auto const address = limit::network_of(*client);
    if (!shared_.open_by_address.enter(address)) return false;
    counted = address;
    return true;
}

// ---- from other threads

void worker::tell(std::function<void()> what) {
    auto* const node = new errand;
    node->what = std::move(what);
    node->run = [](coro::resumption& self) {
        std::unique_ptr<errand> const mine(&static_cast<errand&>(self));
        mine->what();
    };
    mailbox_->post(*node);
}

void worker::meet(std::vector<worker*> others) {
    tell([this, others = std::move(others)] { balance_.meet(others); });
}

void worker::stop_accepting() {
    tell([this] {
        accepting_ = false;
        balance_.settle();
        for (auto const& each : acceptors_) each->cancel();
    });
}

void worker::drain() {
    tell([this] {
        // Not here: requests may have come with this turn's completions, and those just accepted
        // are asked for theirs with the next.
        end_idle_in_ = idle_turns;
    });
}

void worker::end_idle() {
    ends_idle_ = true;
    for (auto *io = open_, *next = io; io != nullptr; io = next) {
        next = io->next_open;
        io->end_idle();
    }
}

void worker::abort_all() {
    tell([this] {
        aborting_ = true;  // also whom the listeners' queues still have
        for (auto *io = open_, *next = io; io != nullptr; io = next) {
            next = io->next_open;
            io->abort();
        }
    });
}

void worker::use(supplies given, std::function<void()> done) {
    tell([this, given = std::move(given), done = std::move(done)] {
        // Connections that are open keep the context they began with.
        if (given.identity != given_.identity) tls_.reset();
        given_ = given;
        take_up_supplies();
        done();
    });
}

void worker::take_up_supplies() {
    if (given_.identity && !tls_)
        tls_ = std::make_shared<tls::context>(given_.identity, given_.tickets, &shared_.signer);
    if (tls_) tls_->use(given_.tickets);
    auto const& limits = rules()->configuration;
    held_bytes_max_ = static_cast<std::ptrdiff_t>(limits.overload_queued_mib << 20);
    desk_ = std::make_unique<api::desk>(api::desk{rules()->interface, *snapshot_, *keys_, *leases_,
                                                  shared_.failures, shared_.cursors, random_,
                                                  shared_.running, &uses_});
}

void worker::finish() {
    tell([this] { finishing_ = true; });
    if (thread_.joinable()) thread_.join();
}

// When it is time, or much has come together; after the store refused, only when it is time.
void worker::report_uses() {
    timers_->arm(uses_due_, now_.mono + key_uses_every_ns);
    reports_early_ = uses_.empty();
    if (!uses_.empty()) connections_.spawn(report_key_uses, this);
}

// Once no connection is left to use a key. The writer may be busy for a moment with what it was
// given before.
void worker::report_last_uses() {
    timers_->remove(uses_due_);
    for (int attempt = 0; attempt < 100 && !uses_.empty(); ++attempt) {
        if (attempt != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        connections_.spawn(report_key_uses, this);
        while (connections_.size() != 0) turn();
    }
    if (!uses_.empty())
        base::say(base::severity::warning, "the last uses of keys could not be stored");
}

// ---- the thread

base::result<void> worker::start(std::vector<listener> const& listeners) {
    std::atomic<int> started{0};
    base::error failure;
    thread_ = std::thread(
        [this, &listeners, &started, &failure] { thread_main(&listeners, &started, &failure); });
    started.wait(0);
    if (started.load() == 1) return {};
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
    auto const accepts_still = [this] {
        return std::any_of(acceptors_.begin(), acceptors_.end(),
                           [](auto const& each) { return each->active(); });
    };
    while (!finishing_ || connections_.size() != 0 || accepts_still()) turn();
    report_last_uses();
    mailbox_->close();
    while (!mailbox_->idle() || connections_.size() != 0) turn();
    log_.flush();
    acceptors_.clear();
    desk_.reset();
    snapshot_.reset();
    buffers_.reset();
    ring_.reset();
}

base::result<void> worker::set_up(std::vector<listener> const& listeners) {
    auto made = uring::ring::make();
    if (!made) return made.error();
    ring_ = std::move(*made);
    auto lent = uring::buffers::make(*ring_, receive_buffers, base::limits::receive_buffer_bytes);
    if (!lent) return lent.error();
    buffers_ = std::move(*lent);
    auto box = uring::mailbox::make(*ring_);
    if (!box) return box.error();
    mailbox_ = std::move(*box);
    now_ = base::read_clocks();
    timers_ = std::make_unique<uring::timers>(now_.mono);
    snapshot_ = std::make_unique<store::snapshot>(shared_.store);
    keys_ = std::make_unique<auth::cache>();
    leases_ = std::make_unique<limit::leases>(shared_.buckets);
    auth::random_bytes(&random_, sizeof random_);
    take_up_supplies();
    uses_due_.self = this;
    uses_due_.fire = [](uring::timers::entry& self, base::mono_ns) {
        static_cast<uses_timer&>(self).self->report_uses();
    };
    report_uses();
    for (auto const& each : listeners)
        acceptors_.push_back(std::make_unique<acceptor>(*this, each));
    for (auto const& each : acceptors_) each->arm();
    return {};
}

}  // namespace latchkey::server
