#include "server/process/reload.hpp"

namespace latchkey::server {

base::result<reloaded> reload_of(config const& running, config const& update) {
    reloaded result{.configuration = update, .changes = {}, .need_restart = {}};
    for (auto const& entry : setting_table()) {
        if (to_toml(running, entry) == to_toml(update, entry)) continue;
        auto& list = entry.restart ? result.need_restart : result.changes;
        list.append(list.empty() ? "" : ", ").append(entry.name);
        if (entry.restart)
            std::visit([&](auto member) { result.configuration.*member = running.*member; },
                       entry.member);
    }
    if (running.jwt != update.jwt) result.changes.append(result.changes.empty() ? "jwt" : ", jwt");
    if (auto const valid = validate(result.configuration); !valid)
        return base::error{valid.error().message + " (with " + result.need_restart +
                           " as it is until a restart)"};
    return result;
}

}  // namespace latchkey::server
