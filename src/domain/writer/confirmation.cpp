#include "domain/writer/confirmation.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace latchkey::domain {
namespace {

constexpr auto poll_interval = std::chrono::milliseconds(1);

template <class... Actions>
bool is_one_of(command::any_action const& action) {
    return (std::holds_alternative<Actions>(action) || ...);
}

}  // namespace

key_switch switch_of(command const& command, outcome const& outcome) {
    using enum key_switch;
    if (outcome.problem != base::problem::none) return none;
    auto const& action = command.action;
    if (is_one_of<deactivate_key, end_sessions, change_key, rotate_key, put_event_secret>(action))
        return off;
    return is_one_of<create_key, reactivate_key, delete_event_secret>(action) ? on : none;
}

std::uint64_t position_to_confirm(environment_state const& store, outcome const& outcome) {
    if (outcome.position > store.position) return outcome.position;  // not applied here yet
    return std::min(outcome.position, store.urgent_position);
}

void await_confirmation(environment_state& store, std::span<command const> commands,
                        std::span<outcome> outcomes) {
    if (store.log == nullptr) return;
    std::uint64_t position = 0;
    base::mono_ns patience = 0;
    for (std::size_t i = 0; i < commands.size(); ++i) {
        auto const kind = switch_of(commands[i], outcomes[i]);
        if (kind == key_switch::none) continue;
        position = std::max(position, position_to_confirm(store, outcomes[i]));
        patience = std::max(patience, confirmation_patience(kind));
    }
    if (position > store.log->confirmed()) store.log->watch(position);
    auto const end = store.clocks().mono + patience;
    while (store.log->confirmed() < position && store.clocks().mono < end)
        std::this_thread::sleep_for(poll_interval);
    auto const confirmed = store.log->confirmed();
    for (std::size_t i = 0; i < commands.size(); ++i)
        if (position_to_confirm(store, outcomes[i]) > confirmed &&
            switch_of(commands[i], outcomes[i]) == key_switch::off)
            name_lease_end(store, outcomes[i]);
}

void name_lease_end(environment_state const& store, outcome& outcome) {
    outcome.effective_by = store.log->last_lease_end();
    outcome.effective_in = std::max<base::wall_ms>(0, outcome.effective_by - store.clocks().clock);
}

}  // namespace latchkey::domain
