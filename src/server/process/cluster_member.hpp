// What makes a service a node of a cluster, from the start of its helper to its departure
// (docs/decisions/cluster.md). Main thread.
//
//     auto member = cluster_member::start(configuration);   // before the first thread
//     … open the store …
//     member->join(store);      // a new node takes over the state of the cluster
//     … start the writer and the workers …
//     member->begin();
//     … stop the workers and the writer …
//     member->leave();
#pragma once

#include <functional>
#include <memory>

#include "base/result.hpp"
#include "cluster/node.hpp"
#include "server/process/config.hpp"
#include "store/environment.hpp"

namespace latchkey::server {

class cluster_member {
  public:
    // Starts the helper. Null: no cluster is configured.
    static base::result<std::unique_ptr<cluster_member>> start(config const& configuration);

    // Before the store is opened: a directory without a master key would get one of its own, which
    // is another than the cluster's.
    base::result<void> check_directory() const;
    // Attaches the store to the log. An empty store takes over the state of the cluster first, with
    // progress on standard error; one that is a node already may start while the engine is away.
    base::result<void> join(store::environment& store);
    // The writer runs: from now on others wait for this node as soon as it has caught up.
    void begin();
    void leave();

    cluster::node const& node() const { return *node_; }
    std::string name() const;  // of this node in its cluster
    // As cluster::node::on_tokens.
    void on_tokens(std::function<void()> wake) { node_->on_tokens(std::move(wake)); }
    // Why it is not ready; empty: it is. Half of the lease must be left, so that a load balancer
    // has time to notice.
    std::string unreadiness() const;

  private:
    cluster_member(config const& configuration, base::descriptor socket)
        : configuration_(configuration), socket_(std::move(socket)) {}
    base::result<void> take_state_over(store::environment& store);

    config configuration_;
    base::descriptor socket_;
    std::unique_ptr<cluster::node> node_;
    std::uint64_t position_ = 0;
};

// A node for a command, which holds no lease. Waits for the engine; the error is a sentence. With
// `no_cluster` the engine need not have one (cluster init).
enum class engine_state : std::uint8_t { has_cluster, no_cluster };
base::result<std::unique_ptr<cluster::node>> connect_command(
    config const& configuration, store::environment const& store,
    engine_state expected = engine_state::has_cluster);

// Who this process is: `lease_ms` 0 for a command. The directory's instance is made if need be.
base::result<cluster::node_options> node_options_of(config const& configuration,
                                                    store::environment const& store,
                                                    std::string_view place);

}  // namespace latchkey::server
