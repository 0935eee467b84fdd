// A node of a simulation: a store, cluster::node, the writer's part of a turn and a worker's, and
// the helper. The writer is blocked while an append is under way, and everything else goes on.
//
// `pass` lets the world go on in its place. If the node is doomed meanwhile, it is cut off from its
// helper, so that its turn ends without an answer.
#pragma once

#include <functional>
#include <memory>

#include "cluster/node.hpp"
#include "domain/snapshot.hpp"
#include "domain/writer/replica.hpp"
#include "helper.hpp"
#include "request.hpp"
#include "store/environment.hpp"
#include "tests/domain/support.hpp"

namespace latchkey::simulation {

inline constexpr store::cluster_id cluster_of_run{'r', 'u', 'n'};

class node final : coro::executor {
  public:
    struct settings {
        unsigned number = 0;
        std::uint32_t lease_ms = 0;
        std::string directory;
        std::string template_directory;  // a store at position 0
    };
    node(settings options, engine& engine, dice& dice, real_ns const& now,
         std::function<void(node&)> pass);
    ~node() { stop(); }
    node(node const&) = delete;
    node& operator=(node const&) = delete;

    // ---- processes
    void wipe();  // its directory holds the store at position 0 then
    void start(std::uint64_t session);
    void stop();
    bool is_running() const { return store_ != nullptr; }
    void leave();
    void start_helper(std::uint64_t session);
    void stop_helper() { helper_.reset(); }
    bool has_helper() const { return helper_ != nullptr; }
    bool has_late_messages() const { return helper_ && helper_->has_late_messages(); }

    // ---- turns
    void writer_turn();
    enum class verdict : std::uint8_t { accepted, refused, limited, pending };
    struct decision {
        arrival request;
        node::verdict verdict = verdict::refused;
    };
    std::vector<decision> worker_turn();
    void node_turn();
    void helper_turn();

    // ---- clients
    void submit(std::unique_ptr<request> request);
    void receive(arrival request) { arrivals_.push_back(request); }
    std::vector<std::unique_ptr<request>> take_answers();
    std::vector<std::unique_ptr<request>> take_requests();  // after its end
    bool has_requests() const { return !requests_.empty(); }

    std::string failure() const { return node_->report().failure; }
    base::mono_ns lease() const { return options_.lease_ms * base::millisecond; }
    bool holds_lease() const { return node_->holds_lease(machine.boot()); }
    store::environment& store() { return *store_; }
    store::cluster_position position() { return *store_->node(); }

    unsigned const number;
    simulation::machine machine;
    // Of the world:
    bool is_busy = false;    // one of its turns has not ended
    bool is_doomed = false;  // it is to end when it can
    real_ns paused_until = 0, helper_paused_until = 0, slow_until = 0, cut_until = 0;
    real_ns start_time = 0;

  private:
    void post(coro::resumption& answered) noexcept override;
    bool settle();
    verdict decide(arrival& request, bool lease_over);
    void commit_group();
    void complete(std::size_t count, identity const& row);
    void wait();

    settings const options_;
    engine& engine_;
    dice& dice_;
    std::function<void(node&)> pass_;
    std::unique_ptr<kit::channel> helper_channel_;
    std::unique_ptr<helper> helper_;
    std::unique_ptr<cluster::node> node_;
    std::unique_ptr<store::environment> store_;
    std::unique_ptr<domain::snapshot> snapshot_;
    std::unique_ptr<domain::ticket_queue> queue_;
    std::unique_ptr<domain::replica> replica_;
    std::deque<domain::ticket*> waiting_;
    std::vector<std::unique_ptr<request>> requests_;
    std::vector<request*> answered_;
    std::vector<arrival> arrivals_;
};

}  // namespace latchkey::simulation
