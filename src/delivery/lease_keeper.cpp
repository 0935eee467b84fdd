#include "delivery/lease_keeper.hpp"

#include "base/time_units.hpp"
#include "domain/webhooks/webhook_lists.hpp"

namespace latchkey::delivery {

void lease_keeper::ask(base::mono_ns length) {
    domain::command command;
    command.action = domain::take_delivery_lease{node_, length / base::millisecond};
    command.required_scope = std::nullopt;
    port_.submit(std::move(command));
}

void lease_keeper::turn(domain::snapshot const& snapshot, base::instant const& now, bool has_work) {
    if (!has_work || port_.is_busy() || now.mono < next_ask_) return;
    next_ask_ = now.mono + length_ / 3;
    auto const lease = domain::find_delivery_lease(snapshot);
    if (lease && lease->node != node_ && lease->deadline > now.wall) {
        end_ = 0;
        auto const rest = (lease->deadline - now.wall + 1) * base::millisecond;
        next_ask_ = std::min(next_ask_, now.mono + rest);
        return;
    }
    request_time_ = now.mono;
    ask(length_);
}

// A command that was refused tells nothing: the lease that it has goes on to its end.
void lease_keeper::hear() {
    auto const outcome = port_.take();
    if (!outcome) return;
    auto const* const lease = std::get_if<domain::delivery_lease>(&outcome->record);
    if (outcome->problem != base::problem::none || lease == nullptr) return;
    end_ = lease->node == node_ ? request_time_ + length_ : 0;
}

void lease_keeper::give_up() {
    bool const has_lease = end_ != 0 && !is_busy();
    end_ = 0;
    if (has_lease) ask(base::millisecond);
}

}  // namespace latchkey::delivery
