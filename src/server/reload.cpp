#include "server/reload.hpp"

namespace latchkey::server {

base::result<reloaded> reload_of(config const& running, config const& read) {
    reloaded made{.settings = read, .changed = {}, .need_restart = {}};
    for (auto const& which : settings()) {
        if (shown(running, which) == shown(read, which)) continue;
        auto& list = which.restart ? made.need_restart : made.changed;
        list.append(list.empty() ? "" : ", ").append(which.name);
        if (which.restart)
            std::visit([&](auto member) { made.settings.*member = running.*member; }, which.member);
    }
    if (auto const valid = validate(made.settings); !valid)
        return base::error{valid.error().message + " (with " + made.need_restart +
                           " as it is until a restart)"};
    return made;
}

}  // namespace latchkey::server
