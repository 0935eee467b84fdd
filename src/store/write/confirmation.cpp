#include "store/write/confirmation.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace latchkey::store {
namespace {

constexpr auto poll_interval = std::chrono::milliseconds(1);

}  // namespace

bool needs_confirmation(command const& command, outcome const& outcome) {
    auto const& action = command.action;
    return outcome.problem == base::problem::none &&
           (std::holds_alternative<deactivate_key>(action) ||
            std::holds_alternative<change_key>(action) ||
            std::holds_alternative<rotate_key>(action));
}

void await_confirmation(environment_state& store, std::span<command const> commands,
                        std::span<outcome> outcomes) {
    if (store.log == nullptr) return;
    std::uint64_t position = 0;
    for (std::size_t i = 0; i < commands.size(); ++i)
        if (needs_confirmation(commands[i], outcomes[i]))
            position = std::max(position, outcomes[i].position);
    auto const end = store.clocks().mono + confirmation_patience;
    while (store.log->confirmed() < position && store.clocks().mono < end)
        std::this_thread::sleep_for(poll_interval);
    auto const confirmed = store.log->confirmed();
    for (std::size_t i = 0; i < commands.size(); ++i)
        if (needs_confirmation(commands[i], outcomes[i]) && outcomes[i].position > confirmed)
            outcomes[i].effective_by = store.log->last_lease_end();
}

}  // namespace latchkey::store
