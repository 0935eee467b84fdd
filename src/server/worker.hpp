// One core's share of the service: a thread with its ring, its listeners, its connections, its key
// cache and its view of the store. Nothing here is shared with another worker but what `common`
// names.
//
// One turn reads: submit and wait in one system call → clocks → mail → renew the snapshot → copy
// the completions → run them → TLS handshake steps → lend buffers → one send per connection →
// timers. Whatever runs after the renew arrived, or was committed, before it; so a write that was
// answered is seen by every later request on every worker.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/exchange.hpp"
#include "api/route.hpp"
#include "base/bytes.hpp"
#include "coro/frame_pool.hpp"
#include "coro/scope.hpp"
#include "http/parser.hpp"
#include "http/write.hpp"
#include "server/access_log.hpp"
#include "server/address_counts.hpp"
#include "server/balance.hpp"
#include "server/config.hpp"
#include "server/listener.hpp"
#include "server/metrics.hpp"
#include "server/rulebook.hpp"
#include "server/transport.hpp"
#include "store/writer.hpp"
#include "tls/context.hpp"
#include "tls/signing.hpp"
#include "uring/buffers.hpp"
#include "uring/mailbox.hpp"
#include "uring/ring.hpp"
#include "uring/timers.hpp"

namespace latchkey::server {

class acceptor;

// What all workers are given; outlives them. Everything is immutable or thread-safe.
struct common {
    store::environment& store;
    store::writer& writer;
    limit::buckets& buckets;
    limit::failures& failures;
    auth::seal const& cursors;
    address_counts& open_by_address;
    log_thread& log;
    tls::signing_thread& signer;
    api::in_progress running;                       // under Idempotency-Keys
    std::atomic<bool> draining{false};              // answers carry `Connection: close`
    std::atomic<std::size_t> credential_bodies{0};  // bytes of bodies read for their credential
};

// A request in hand: everything of it that must outlive a suspension. Pooled, so that capacities
// stay.
struct job {
    api::exchange exchange;
    log_entry entry;
    std::string head;  // of a request whose body came later
    std::string body;
};

// Keeps the capacity and nothing of what a client sent: it may have been a key.
inline void wipe_and_clear(std::string& received) {
    base::wipe(received.data(), received.size());
    received.clear();
}

class worker {
  public:
    worker(common& shared, unsigned index, supplies given);
    ~worker();
    worker(worker const&) = delete;
    worker& operator=(worker const&) = delete;

    // Starts the thread; returns when the worker accepts, or what kept it from it. The listeners'
    // descriptors stay the caller's.
    base::result<void> start(std::vector<listener> const& listeners);
    // The same on the caller's thread instead: returns after `finish`, or what kept it from
    // accepting.
    base::result<void> run(std::vector<listener> const& listeners);
    // From any thread; carried out between two turns. Those others may be given connections from
    // then on; they live until none of them accepts.
    void meet(std::vector<worker*> others);
    void stop_accepting();
    void drain();  // ends idle connections, the others after their answer
    void abort_all();
    // Requests that begin after `done` was called, on the worker's thread, find these.
    void use(supplies given, std::function<void()> done);
    // Calls `done` on the worker's thread, between two turns: it lives.
    void ask(std::function<void()> done) { tell(std::move(done)); }
    // Open connections, with those that wait to be accepted here or are on their way from another
    // worker; any thread, a little late.
    std::size_t connections() const { return connection_count_.load(); }
    // For the thread that answers `/metrics`; what stands in it is a little late.
    worker_metrics const& metrics() const { return metrics_; }
    // Ends the worker once no connection is left, and waits for its thread; call after `drain`.
    void finish();

    // For transports and connections, on the worker's thread.
    common& shared() { return shared_; }
    std::shared_ptr<rulebook const> const& rules() const { return given_.rules; }
    worker_metrics& metrics() { return metrics_; }
    uring::ring& ring() { return *ring_; }
    uring::buffers& buffers() { return *buffers_; }
    uring::timers& timers() { return *timers_; }
    uring::mailbox& mailbox() { return *mailbox_; }
    std::shared_ptr<tls::context> const& tls_context() { return tls_; }
    base::instant now() const { return now_; }
    api::desk& desk() { return *desk_; }
    auth::uses& uses() { return uses_; }
    void may_report_early() { reports_early_ = true; }
    http::section_cache& sections() { return sections_; }
    http::request& request() { return request_; }
    http::response& response() { return response_; }
    std::string_view date() { return date_.at(now_.wall); }
    std::string& plain_scratch() { return plain_scratch_; }
    // From `drain` on a connection without a request in hand is not kept.
    bool ends_idle() const { return ends_idle_; }
    bool draining() const { return shared_.draining.load(std::memory_order_relaxed); }

    std::unique_ptr<job> take_job();
    void give_back(std::unique_ptr<job> done);
    // A request was answered: it is counted and logged.
    void note(job const& done, api::peer const& from);

    // A request that is going to be looked at in this turn reads that.
    void foresee(api::foreseen const& seen) {
        if (snapshot_->at_hand(seen.which, seen.id)) return;
        foreseen_[static_cast<std::size_t>(seen.which)].push_back(seen.id);
    }

    void add(transport& io);
    void remove(transport& io);
    void mark_dirty(transport& io);
    void run_next_turn(transport& io) { again_.push_back(&io); }
    void queue_handshake(transport& io) { handshakes_.push_back(&io); }
    void starved(transport& io) { starved_.push_back(&io); }
    // A transport that ends takes itself off every list.
    void forget(transport& io);

    std::string take_buffer();
    void give_back(std::string&& buffer);
    // Bytes that connections keep.
    void hold(std::ptrdiff_t change) { held_ += change; }
    bool over_budget() const { return held_ > held_bytes_max_; }
    // Past either of its bounds; asked once a request has its job. New requests are refused.
    bool overloaded() const {
        return jobs_in_hand_ > rules()->configuration.overload_requests_in_flight || over_budget();
    }

    bool accepting() const { return accepting_; }
    // `expected`: as many of the connections are counted that are this one.
    void accept(accepted socket, std::size_t expected = 0);
    std::size_t connections_max() const { return rules()->configuration.connections; }
    balance& who_serves() { return balance_; }
    // Connections that count although they are not accepted yet.
    void expect(std::ptrdiff_t change) {
        connection_count_.fetch_add(static_cast<std::size_t>(change));
    }
    // On the thread of the worker that it came to: this one accepts it between two turns. False
    // when the service ends, and it stays the caller's.
    bool take_over(accepted const& socket);
    // Whether that client may have one more connection; `counted` is set if it counts.
    bool may_enter(std::optional<model::address> const& client,
                   std::optional<model::address>& counted);

  private:
    struct uses_timer : uring::timers::entry {
        worker* self = nullptr;
    };
    static constexpr std::size_t completions_per_turn_max = 4096;
    static constexpr std::size_t looked_ahead_max = 64;
    static constexpr std::size_t handshakes_per_turn_max = 4;

    void thread_main(std::vector<listener> const* listeners, std::atomic<int>* started,
                     base::error* failure);
    base::result<void> set_up(std::vector<listener> const& listeners);
    void take_up_supplies();
    void publish_gauges();
    void turn_until_finished();
    void turn();
    void run_ready();
    void look_ahead(std::size_t end);
    void run_handshakes();
    void run_again();
    void flush_dirty();
    void feed_starved();
    void shed_hoarders();
    bool may_block() const;
    void end_idle();
    void report_uses();
    void report_last_uses();
    void tell(std::function<void()> what);

    common& shared_;
    unsigned index_;
    worker_metrics metrics_;
    std::unique_ptr<uring::ring> ring_;
    std::unique_ptr<uring::buffers> buffers_;
    std::unique_ptr<uring::timers> timers_;
    std::unique_ptr<uring::mailbox> mailbox_;
    supplies given_;
    std::shared_ptr<tls::context> tls_;
    std::unique_ptr<store::snapshot> snapshot_;
    std::unique_ptr<auth::cache> keys_;
    auth::uses uses_;
    uses_timer uses_due_;
    bool reports_early_ = false;
    std::unique_ptr<limit::leases> leases_;
    std::unique_ptr<api::desk> desk_;
    std::uint64_t random_ = 0;
    http::section_cache sections_;
    http::request request_;
    http::response response_;
    http::date_line date_;
    access_log_buffer log_;
    unsigned answers_in_turn_ = 0;
    base::mono_ns answered_at_ = 0;
    std::string plain_scratch_;
    coro::frame_pool frames_;
    coro::scope connections_;
    std::vector<std::unique_ptr<acceptor>> acceptors_;
    base::instant now_;

    std::vector<uring::completion> ready_;
    std::size_t next_ready_ = 0;
    std::array<std::vector<model::id>, 2> foreseen_;  // by store::resource
    bool looks_ahead_ = false;  // the last requests had to search for a record
    std::vector<transport*> again_, handshakes_, starved_, batch_;
    transport* dirty_ = nullptr;
    transport* open_ = nullptr;
    std::vector<std::unique_ptr<job>> jobs_;
    std::size_t jobs_in_hand_ = 0;
    std::vector<std::string> spare_;
    std::ptrdiff_t held_ = 0;
    std::ptrdiff_t held_bytes_max_ = 0;
    base::mono_ns next_shedding_ = 0;
    std::atomic<std::size_t> connection_count_{0};
    balance balance_;
    bool accepting_ = true;
    bool aborting_ = false;
    bool ends_idle_ = false;
    bool finishing_ = false;
    unsigned end_idle_in_ = 0;  // turns until idle connections are ended
    std::thread thread_;
};

}  // namespace latchkey::server
