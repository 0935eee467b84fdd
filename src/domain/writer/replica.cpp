#include "domain/writer/replica.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "base/time_units.hpp"
#include "domain/writer/confirmation.hpp"

namespace latchkey::domain {
namespace {

constexpr base::mono_ns minute = 60 * base::second;
// Between two questions about an unsettled row; what arrives from the log ends the wait earlier.
constexpr base::mono_ns settle_interval = 20 * base::millisecond;
constexpr base::mono_ns settle_patience_at_stop = base::second;

void post(ticket& finished) {
    finished.executor->post(finished);
}

// Answers the tickets for which `answers` returns true; the others keep their order.
template <class Wait, class Answers>
void answer_some(std::vector<Wait>& waits, Answers answers) {
    std::erase_if(waits, [&](Wait const& each) {
        if (!answers(each)) return false;
        post(*each.ticket);
        return true;
    });
}

}  // namespace

replica::replica(environment_state& store, ticket_queue& queue) : store_(store), queue_(queue) {
    store_.log->on_arrival([this] { queue_.notify(); });
}

replica::~replica() {
    store_.log->on_arrival({});
}

// Their room in the queue is given back at once: a worker bounds how many requests it has.
ticket_queue::batch replica::without_waits(ticket_queue::batch tickets) {
    ticket_queue::batch rest;
    for (auto* each = tickets.oldest; each != nullptr;) {
        auto* const next = each->next;
        if (auto const* action = std::get_if<await_position>(&each->command.action)) {
            queue_.release(1, each->command.bytes());
            waits_.push_back({each, action->position, action->deadline});
        } else {
            (rest.oldest == nullptr ? rest.oldest : rest.newest->next) = each;
            rest.newest = each;
            each->next = nullptr;
        }
        each = next;
    }
    return rest;
}

bool replica::hold_unconfirmed(ticket& ticket) {
    auto const kind = switch_of(ticket.command, ticket.outcome);
    if (kind == key_switch::none) return false;
    auto const position = position_to_confirm(store_, ticket.outcome);
    if (position <= store_.log->confirmed()) return false;
    store_.log->watch(position);
    auto const deadline = store_.clocks().mono + confirmation_patience(kind);
    unconfirmed_.push_back({&ticket, position, deadline});
    return true;
}

void replica::answer(bool closing) {
    if (!waits_.empty()) answer_reached(closing);
    if (!unconfirmed_.empty()) answer_confirmed(closing);
}

void replica::answer_reached(bool closing) {
    auto const now = store_.clocks().mono;
    answer_some(waits_, [&](wait const& each) {
        bool const is_reached = each.position <= store_.position;
        if (!is_reached && !closing && now < each.deadline) return false;
        each.ticket->outcome = {.problem = is_reached ? base::problem::none : base::problem::behind,
                                .position = store_.position};
        return true;
    });
}

void replica::answer_confirmed(bool closing) {
    auto const now = store_.clocks().mono;
    auto const confirmed = store_.log->confirmed();
    answer_some(unconfirmed_, [&](wait const& each) {
        if (each.position <= confirmed) return true;
        if (!closing && now < each.deadline) return false;
        if (switch_of(each.ticket->command, each.ticket->outcome) == key_switch::off)
            name_lease_end(store_, each.ticket->outcome);
        return true;
    });
}

void replica::keep(ticket_queue::batch tickets, std::size_t count) {
    unsettled_ = tickets;
    unsettled_count_ = count;
    is_unsettled_ = true;
    unsettled_since_ = base::read_mono();
}

bool replica::is_overdue() const {
    return base::read_mono() - unsettled_since_ >= base::limits::write_lock_patience_ns;
}

replica::kept_group replica::settle(bool closing) {
    if (closing && closing_since_ == 0) closing_since_ = base::read_mono();
    auto result = resolve_own_row(store_);
    if (result == append_result::unknown) {
        if (!closing || base::read_mono() - closing_since_ < settle_patience_at_stop) return {};
        // Not `behind`, which says that nothing was written.
        for (auto* each = unsettled_.oldest; each != nullptr; each = each->next)
            each->outcome = {
                .problem = base::problem::internal_error,
                .detail = "The node stopped before it was known whether this was carried out."};
        result = append_result::unavailable;
    } else if (result == append_result::unavailable) {
        result = append_result::lost;
    }
    kept_group const group{result, std::exchange(unsettled_, {}),
                           std::exchange(unsettled_count_, 0)};
    is_unsettled_ = false;
    return group;
}

base::mono_ns replica::patience() const {
    if (is_unsettled_) return settle_interval;
    auto end = INT64_MAX;
    for (auto const* list : {&waits_, &unconfirmed_})
        for (auto const& each : *list) end = std::min(end, each.deadline);
    auto const now = store_.clocks().mono;
    return end == INT64_MAX ? minute : std::clamp(end - now, base::millisecond, minute);
}

bool replica::sleep(std::atomic<bool> const& stopping) {
    auto const longest = patience();
    return queue_.sleep(stopping, longest) && longest == minute;
}

}  // namespace latchkey::domain
