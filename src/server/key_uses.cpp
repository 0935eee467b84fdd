#include "server/key_uses.hpp"

#include "base/log.hpp"
#include "server/worker.hpp"
#include "store/writer.hpp"

namespace latchkey::server {

coro::task<> report_key_uses(worker* on) {
    while (!on->uses().empty()) {
        auto batch = on->uses().take(store::key_uses_max);
        store::command command;
        command.what = store::note_key_uses{batch};
        store::commit done(on->shared().writer, on->mailbox(), std::move(command));
        store::outcome const& outcome = co_await done;
        if (outcome.problem == base::problem::none) continue;
        // A full disk or queue.
        if (auto const lost = on->uses().put_back(batch); lost != 0)
            base::say(base::severity::warning,
                      "the usage of " + std::to_string(lost) + " requests could not be stored");
        co_return;
    }
    on->may_report_early();
}

}  // namespace latchkey::server
