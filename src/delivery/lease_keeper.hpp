// Whether this node is the one that delivers (docs/decisions/changes.md): keeps a lease that is a
// record of the cluster's log, renewed after each third of its length. Its end is judged by this
// machine's monotonic clock from before the renewal was submitted, so it ends here first. Belongs
// to the dispatcher's thread.
#pragma once

#include <string>

#include "delivery/command_port.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::delivery {

class lease_keeper {
  public:
    lease_keeper(domain::writer& writer, int event, std::string node, base::mono_ns length)
        : port_(writer, event), node_(std::move(node)), length_(length) {}

    bool holds(base::mono_ns now) const { return now < end_; }
    // Takes the answer to what was asked. Before the snapshot is renewed that a new holder begins
    // with: it has to show what the one before has committed.
    void hear();
    // Renews it when it is time, or asks for it when no other node has it; `wanted`: there is
    // something to deliver.
    void turn(domain::snapshot const& snapshot, base::instant const& now, bool has_work);
    base::mono_ns next_turn() const { return next_ask_; }
    // Leaves it to the others. Then nothing more may be asked of it but `is_busy`.
    void give_up();
    bool is_busy() { return !port_.take() && port_.is_busy(); }

  private:
    void ask(base::mono_ns length);

    command_port port_;
    std::string node_;
    base::mono_ns length_;
    base::mono_ns request_time_ = 0;  // when the command that runs was submitted
    base::mono_ns end_ = 0;
    base::mono_ns next_ask_ = 0;
};

}  // namespace latchkey::delivery
