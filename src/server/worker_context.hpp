// What the parts of a worker work with: its thread's I/O, the time of the turn, its configuration,
// quotas and queues. Parts (transport, connection, acceptor …) take this by reference and know
// neither the worker nor each other's owner. Belongs to the worker's thread but for `post` and what
// says otherwise.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/frame/event_stream.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/thread_checker.hpp"
#include "runtime/uring/buffers.hpp"
#include "runtime/uring/mailbox.hpp"
#include "runtime/uring/ring.hpp"
#include "runtime/uring/timers.hpp"
#include "server/common.hpp"
#include "server/drain_state.hpp"
#include "server/memory_budget.hpp"
#include "server/net/anonymous_requests.hpp"
#include "server/net/buffer_pool.hpp"
#include "server/net/connection_table.hpp"
#include "server/net/event_waiters.hpp"
#include "server/net/read_ahead.hpp"
#include "server/net/token_waiters.hpp"
#include "server/net/turn_queues.hpp"
#include "server/observe/metrics.hpp"
#include "server/observe/request_recorder.hpp"
#include "server/process/config_snapshot.hpp"
#include "server/turn_budget.hpp"
#include "session/session_context.hpp"
#include "wire/tls/tls_context.hpp"

namespace latchkey::server {

class transport;

// Options that only tests and benchmarks change.
struct worker_options {
    bool read_ahead = true;
};

class worker_context {
  public:
    static constexpr std::uint32_t receive_buffers = 1024;

    worker_context(common& services, worker_config initial, worker_options options)
        : shared(services),
          configuration(std::move(initial)),
          streams(services.streams),
          recorder(metrics, services.log,
                   current_config().tracing_endpoint.empty() ? span_recorder::off()
                                                             : span_recorder::on()),
          ahead(options.read_ahead, metrics.prefetch_hints) {}
    worker_context(worker_context const&) = delete;
    worker_context& operator=(worker_context const&) = delete;

    // Makes the I/O, on the thread that the context belongs to from then on.
    base::result<void> open();
    // Gives up ring and buffers; the mailbox stays, since other threads may still look at it.
    void close();
    // A reload: takes effect with the next request, and for TLS with the next connection.
    void adopt(worker_config next);

    uring::ring& ring() {
        thread_.check();
        return *ring_;
    }
    uring::buffers& buffers() {
        thread_.check();
        return *buffers_;
    }
    uring::timers& timers() {
        thread_.check();
        return *timers_;
    }
    uring::mailbox& mailbox() { return *mailbox_; }
    config const& current_config() const { return configuration.rules->configuration; }
    std::uint64_t connections_max() const {
        return std::min(current_config().connections, shared.connections_max);
    }
    std::shared_ptr<tls::context> const& tls_context() const { return tls_; }
    bool has_completions() const { return ring_->has_completions(); }
    bool draining() const { return shared.draining.load(std::memory_order_relaxed); }
    void check_thread() const { thread_.check(); }

    // Until there may be tokens for a request that is short of them (`token_waiters`).
    token_waiters::wait wait_for_tokens() {
        return token_waiters::wait(tokens, timers(), mailbox(), now.mono);
    }
    // Calls `task` on the worker's thread, between two turns. Any thread, from `open` on.
    void post(std::function<void()> task);

    std::size_t unsent_bytes_max() const { return memory.unsent_bytes_max(connections.count()); }
    // Requests in hand but those that wait for the body in which their key may be: they have a
    // bound of their own.
    std::size_t identified_requests() const {
        return sessions.streams.in_use() - anonymous.count();
    }
    // One more request of a connection that holds so much is to be refused.
    bool overloaded(std::size_t bytes) const {
        return identified_requests() >= current_config().overload_requests_in_flight ||
               !memory.admits(bytes);
    }
    // The same of (more of) the body of a request in hand.
    bool admits_body(std::size_t bytes, model::id key) const {
        return memory.admits(std::max(bytes, memory.held_by(static_cast<std::uint64_t>(key))));
    }
    bool is_trusted_proxy(model::address const& address) const;
    // The response to that request was written.
    void record(session::stream const& request, api::peer const& client);
    // Whether that client may have one more connection (address_counts); sets `counted` if it
    // counts.
    bool enter_address(std::optional<model::address> const& client,
                       std::optional<model::address>& counted);

    common& shared;
    base::instant now;  // of the turn
    worker_config configuration;
    api::event_streams streams;
    worker_metrics metrics;
    memory_budget memory;
    buffer_pool spare_buffers;
    anonymous_requests anonymous;
    token_waiters tokens;
    event_waiters events;
    session::context sessions;
    connection_table<transport> connections;
    turn_queues<transport> queues{receive_buffers};
    request_recorder recorder;
    read_ahead ahead;
    drain_state drain;
    turn_budget budget;
    bool accepting = true;
    std::string plain_scratch;    // bytes that TLS has just decrypted
    std::string control_scratch;  // that a session has just said by itself

  private:
    void prepare_tls();

    // The reading for one request that counts as cheap; if it costs more, the clock is read after
    // it.
    static constexpr std::int64_t small_cost_max = 50 * base::microsecond;

    std::int64_t known_cost_ = 0;  // of all that the snapshot has read
    [[no_unique_address]] base::thread_checker thread_;
    std::unique_ptr<uring::ring> ring_;
    std::unique_ptr<uring::buffers> buffers_;
    std::unique_ptr<uring::timers> timers_;
    std::unique_ptr<uring::mailbox> mailbox_;
    std::shared_ptr<tls::context> tls_;
};

}  // namespace latchkey::server
