// One core's share of the service: a thread with its ring, its listeners, its connections, its key
// cache and its view of the store. Nothing here is shared with another worker but what `common`
// names.
//
// One turn: submit and wait in one system call → read clocks → mail → renew the snapshot → copy
// completions → run them → TLS handshake steps → lend buffers → one send per connection → timers.
// It is bounded by time and bytes (turn_budget.hpp); what is left over is in the next turn.
// What runs after the renewal arrived, or was committed, before it; so every later request on every
// worker sees a write that was answered.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "auth/bearer_cache.hpp"
#include "auth/cache.hpp"
#include "auth/usage_counter.hpp"
#include "cluster/quota_purse.hpp"
#include "domain/snapshot.hpp"
#include "limit/leases.hpp"
#include "runtime/coro/frame_pool.hpp"
#include "server/net/acceptor.hpp"
#include "server/net/admission.hpp"
#include "server/net/connection_balancer.hpp"
#include "server/observe/key_uses.hpp"
#include "server/process/listener.hpp"
#include "server/worker_context.hpp"

namespace latchkey::server {

class worker {
  public:
    worker(common& shared, unsigned index, worker_config initial, worker_options options = {});
    ~worker();
    worker(worker const&) = delete;
    worker& operator=(worker const&) = delete;

    // Starts the thread; returns once the worker accepts, or the error. The listeners' descriptors
    // stay the caller's.
    base::result<void> start(std::vector<listener> const& listeners);
    // The same on the caller's thread instead: returns after `finish`, or the error.
    base::result<void> run(std::vector<listener> const& listeners);
    // From any thread; carried out between two turns. The peers may be given connections from then
    // on; they live until none of them accepts.
    void set_peers(std::vector<worker*> const& peers);
    // Stops accepting. Connections that wait in the queues of the sockets `queues` are left there,
    // for another process.
    void stop_accepting(std::vector<int> const& queues = {});
    // Before `start`: it accepts only from `begin_accepting` on.
    void defer_accepting() { context_.accepting = false; }
    void begin_accepting();
    // Ends idle connections, the others after their response. `with_notice`: an idle connection of
    // HTTP/1.1, which cannot be told, waits for its next request too.
    void drain(drain_state::kind kind = drain_state::kind::idle_at_once);
    void abort_all();
    // Requests that begin after `done` was called, on the worker's thread, find this configuration.
    void use(worker_config next, std::function<void()> callback);
    // Calls `task` on the worker's thread, between two turns.
    void post(std::function<void()> task) { context_.post(std::move(task)); }
    // From any thread: requests that wait for tokens are to try again.
    void tell_tokens() { context_.tokens.tell(context_.mailbox()); }
    // The peak of held memory is what is held, from the next turn on.
    void reset_held_peak() {
        post([this] { context_.memory.reset_peak(); });
    }
    // Open connections, with those that wait to be accepted here or are on their way from another
    // worker; any thread, a little late.
    std::size_t connections() const { return context_.connections.count(); }
    // For the thread that serves `/metrics`; a little late.
    worker_metrics const& metrics() const { return context_.metrics; }
    // For the span exporter, while the worker lives; null: no spans are recorded.
    trace::protocol::span_ring* span_ring() const { return context_.recorder.spans().ring(); }
    connection_balancer const& balancer() const { return balancer_; }
    // Ends the worker once no connection is left, and waits for its thread; call after `drain`.
    void finish();

  private:
    static constexpr std::size_t completions_per_turn_max = 4096;
    static constexpr std::size_t handshakes_per_turn_max = 4;

    void thread_main(std::vector<listener> const* listeners, std::atomic<int>* started,
                     base::error* failure);
    base::result<void> set_up(std::vector<listener> const& listeners);
    void make_services();
    void turn_until_finished();
    void turn();
    bool may_block() const;
    base::mono_ns next_deadline();
    void read_mail();
    void run_completions();
    void feed_starved();
    void publish_gauges();

    worker_context context_;
    admission admission_;
    connection_balancer balancer_;
    unsigned const index_;

    std::unique_ptr<domain::snapshot> snapshot_;
    std::unique_ptr<auth::cache> keys_;
    std::unique_ptr<auth::bearer_cache> tokens_;
    std::unique_ptr<limit::leases> leases_;
    std::unique_ptr<cluster::quota_purse> purse_;  // of a node, in the place of leases
    std::uint64_t random_ = 0;
    auth::usage_counter uses_;
    key_use_reporter use_reporter_;
    std::unique_ptr<api::request_services> services_;

    coro::frame_pool frames_;
    std::vector<std::unique_ptr<acceptor>> acceptors_;
    coro::resumption* mail_ = nullptr;  // that was taken and not read
    std::vector<uring::completion> ready_;
    std::size_t next_ready_ = 0;
    bool finishing_ = false;
    std::thread thread_;
};

}  // namespace latchkey::server
