// Sends changes to webhooks (docs/api.md §17): what the deliverer's thread does in one turn. Reads
// the store, has the scheduler decide, gives finished requests to the helper, and commits what
// became of them. A cluster's node that has not the lease does nothing; when it loses it, it
// forgets its state, and one that gets it reads the state from the store.
//
//     auto const next = dispatcher.turn(now);   // then wait until then, for the link, or `event`
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cluster/node.hpp"
#include "delivery/command_port.hpp"
#include "delivery/delivery_metrics.hpp"
#include "delivery/delivery_schedule.hpp"
#include "delivery/lease_keeper.hpp"
#include "helpers/deliver/protocol/helper_link.hpp"

namespace latchkey::delivery {

struct dispatcher_options {
    store::environment& store;
    domain::writer& writer;
    deliver::protocol::helper_link& link;
    std::vector<model::cidr> allow;  // networks that may be reached though they are not public
    int event = -1;                  // an eventfd, written when a command was answered
    std::uint64_t seed = 0;
    cluster::node const* node = nullptr;  // null: no cluster
    std::string node_name;
    base::mono_ns lease_length = 0;
};

class dispatcher {
  public:
    static constexpr base::mono_ns look_interval = 25 * base::millisecond;   // for new changes
    static constexpr base::mono_ns idle_interval = 500 * base::millisecond;  // without webhooks
    static constexpr base::mono_ns webhook_interval = 200 * base::millisecond;
    static constexpr base::mono_ns commit_interval = 20 * base::millisecond;

    explicit dispatcher(dispatcher_options options);

    // The time of the next one, unless the link or `event` is ready before. `wall` is store time.
    base::mono_ns turn(base::instant const& now);
    // Why nothing can be sent any more; empty: it can.
    std::string const& failure() const { return failure_; }
    // From now on nothing is sent, and turns commit the results that come.
    void drain() { is_draining_ = true; }
    // Are there results that turns may commit still?
    bool is_busy() const;
    // After the last turn, until it is true: leaves the lease to others, and waits for the writer.
    bool give_up();
    delivery_metrics const& metrics() const { return metrics_; }

  private:
    bool may_send() const;
    bool has_room() const;  // for one more: asked before each
    void begin(base::instant const& now);
    void forget();
    void hear(base::instant const& now);
    void hear_link(base::instant const& now);
    void send_one(delivery::attempt const& attempt, base::instant const& now);
    void send(base::instant const& now);
    void commit(base::instant const& now);
    void look_at_webhooks(base::instant const& now);
    std::vector<delivery::pending_delivery> pending_of(model::id webhook) const;
    base::mono_ns next_turn(base::instant const& now, bool more);
    void publish(model::id last);

    dispatcher_options options_;
    domain::snapshot snapshot_;
    command_port reports_;
    std::optional<lease_keeper> lease_;
    std::unique_ptr<delivery::delivery_schedule> schedule_;  // null: this node does not deliver
    bool is_draining_ = false, has_given_up_ = false;
    std::string failure_;
    bool must_settle_ = false;  // the report that runs is of this schedule
    bool commits_fail_ = false;
    std::size_t webhooks_ = 0;         // that are enabled
    std::uint64_t webhooks_seen_ = 0;  // the version that they were read from
    base::mono_ns next_webhooks_ = 0;
    base::mono_ns next_commit_ = 0;
    delivery::delivery_schedule::counters counted_;  // of schedules that were forgotten
    std::uint64_t last_number_ = 0;                  // of an attempt of those
    delivery_metrics metrics_;
};

}  // namespace latchkey::delivery
