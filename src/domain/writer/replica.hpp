// The part of the writer that only a node of a cluster has: tickets that wait for a position or for
// the confirmation of the other nodes, and the group whose row is of unknown fate. The writer's
// thread only; private to the domain.
#pragma once

#include <vector>

#include "domain/writer/replication.hpp"
#include "domain/writer/ticket_queue.hpp"

namespace latchkey::domain {

class replica {
  public:
    // Wakes the queue's sleeper whenever something of the log has arrived.
    replica(environment_state& store, ticket_queue& queue);
    ~replica();
    replica(replica const&) = delete;
    replica& operator=(replica const&) = delete;

    // Takes the tickets that wait for a position out of a batch.
    ticket_queue::batch without_waits(ticket_queue::batch tickets);
    // Keeps a ticket with its outcome until that is confirmed; false: it need not be.
    bool hold_unconfirmed(ticket& ticket);
    // Answers those whose position is reached or confirmed, and those whose time is over;
    // `closing`: all of them.
    void answer(bool closing);

    // Keeps the tickets of a group, with their outcomes, until it is known what became of its row.
    void keep(ticket_queue::batch tickets, std::size_t count);
    bool has_kept() const { return unsettled_.oldest != nullptr || is_unsettled_; }
    // For so long that commands behind them should not wait any more.
    bool is_overdue() const;
    // The tickets are returned to the writer when it is known. `won`: with their outcomes; `lost`:
    // to be decided again. `unavailable`: it could not be found out before the stop, and the
    // outcomes say so.
    struct kept_group {
        append_result result = append_result::unknown;
        ticket_queue::batch tickets;
        std::size_t count = 0;
    };
    kept_group settle(bool closing);

    // As ticket_queue::sleep, but not beyond the end of a wait. True: a minute without anything.
    bool sleep(std::atomic<bool> const& stopping);

  private:
    struct wait {
        domain::ticket* ticket;
        std::uint64_t position;
        base::mono_ns deadline;
    };
    base::mono_ns patience() const;
    void answer_reached(bool closing);
    void answer_confirmed(bool closing);

    environment_state& store_;
    ticket_queue& queue_;
    std::vector<wait> waits_;        // for a position of this store
    std::vector<wait> unconfirmed_;  // for the other nodes
    ticket_queue::batch unsettled_;
    std::size_t unsettled_count_ = 0;
    bool is_unsettled_ = false;
    base::mono_ns unsettled_since_ = 0, closing_since_ = 0;
};

}  // namespace latchkey::domain
