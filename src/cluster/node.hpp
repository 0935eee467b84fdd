// This process as a node of a cluster: the other end of the helper `latchkey-replicate`, which
// speaks to the engine (replicate_messages.hpp of its protocol). It gives the
// store its shared log, and the workers the lease under which they may answer.
//
//     cluster::node node(std::move(socket), options);
//     auto const joined = node.join(10 * base::second);     // who and where the cluster is
//     store.attach(node, joined->cluster); … node.follow(position) … node.begin_lease();
//
// Owns one thread, which reads the socket; functions are for any thread unless they say otherwise.
// What blocks says how long. The helper may end and be started again at any time: what was not
// answered is unknown then, and everything else is reported to the new one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/function_ref.hpp"
#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "cluster/lease.hpp"
#include "cluster/node_options.hpp"
#include "cluster/quota.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"
#include "store/shared_log.hpp"

namespace latchkey::cluster {

// The state of the node and of its connection to the engine, for readiness, metrics and `cluster
// status`.
struct node_report {
    bool connected = false;     // to the engine
    std::string engine;         // why not, or which server it is
    std::string failure;        // why this node can do nothing any more; empty: it can
    std::uint64_t head = 0;     // of the log, as far as this node knows
    std::uint64_t applied = 0;  // position of this store
    boot_ns lease_end = 0;
    std::uint64_t appends = 0, lost = 0, unknown = 0;  // rows of this process
    std::vector<replicate::protocol::node_state> nodes;
    quota::counters tokens;
    std::uint64_t share_charges = 0;
};

struct helper_client;

class node final : public store::shared_log {
  public:
    // `socket`: this end of the helper's socket pair.
    node(base::descriptor socket, node_options options);
    ~node();  // ends the thread; nobody may wait in a function of this object
    node(node const&) = delete;
    node& operator=(node const&) = delete;

    // Waits until the helper has reached the engine. The error is a sentence for the operator; with
    // `failure`, also the reason, if the engine has reported one.
    base::result<replicate::protocol::ready> join(base::mono_ns patience,
                                                  replicate::protocol::failure* failure = nullptr);
    // Rows after the position of the store are wanted from now on.
    void follow(std::uint64_t position, store::row_nonce const& nonce);
    // From now on this node holds leases, so that others wait for it: as soon as the store has
    // reached the head of the log that was found when the engine was reached.
    void begin_lease();
    // Tells the others that this node has gone; waits for at most `patience`.
    void leave(base::mono_ns patience);

    // Limits across nodes: makes the quota that workers charge, whose asks are sent from
    // `begin_lease` on. Before that; once.
    base::result<void> share_limits(std::uint64_t process);
    // Null without `share_limits`. For its functions of any thread.
    cluster::quota* quota() const;
    // Called on the node's thread when requests that wait for tokens should try again. Empty: no
    // more, from the return on.
    void on_tokens(std::function<void()> wake);

    // May authenticated requests be answered at that time?
    bool holds_lease(boot_ns now) const { return now < lease_end_.load(std::memory_order_acquire); }
    boot_ns lease_end() const { return lease_end_.load(std::memory_order_acquire); }
    node_report report() const;

    // ---- for commands; block for at most `patience`
    base::result<replicate::protocol::status_report> status(base::mono_ns patience);
    base::result<void> remove(std::string const& name, base::mono_ns patience);
    // Reads the state of the whole cluster, in the order of (table, key). `patience` is that of
    // each part. The sink's error ends it.
    using record_sink = base::function_ref<base::result<void>(
        std::vector<replicate::protocol::state_record>&& records)>;
    base::result<replicate::protocol::state_begin> read_state(bool fold, base::mono_ns patience,
                                                              record_sink sink);
    // Begins a cluster, whose state is given by `source`: parts until an empty one.
    using record_source =
        base::function_ref<base::result<std::vector<replicate::protocol::state_record>>()>;
    base::result<void> create(store::cluster_id const& cluster, base::mono_ns patience,
                              record_source source);

    // ---- store::shared_log
    store::append_result append(store::log_row const& row) override;
    store::append_result resolve(store::log_row const& row) override;
    std::vector<store::log_row> rows_after(std::uint64_t position, std::size_t bytes_max) override;
    bool fetch(std::uint64_t position) override;
    void release() override;
    void applied(std::uint64_t position, store::row_nonce const& nonce, bool urgent) override;
    void watch(std::uint64_t position) override;
    std::uint64_t confirmed() const override;
    base::wall_ms last_lease_end() const override;
    void on_arrival(std::function<void()> wake) override;

    // One turn of the thread: sends, receives and reports. Called from outside for a node in
    // virtual time.
    void turn();

  private:
    void run();

    std::atomic<boot_ns> lease_end_{0};
    std::unique_ptr<helper_client> link_;
};

}  // namespace latchkey::cluster
