#include "server/key_uses.hpp"

#include "server/worker.hpp"
#include "store/writer.hpp"

namespace latchkey::server {

coro::task<> report_key_uses(worker* on) {
    while (!on->uses().empty()) {
        store::command command;
        command.what = store::note_key_uses{on->uses().take(store::key_uses_max)};
        store::commit done(on->shared().writer, on->mailbox(), std::move(command));
        store::outcome const& outcome = co_await done;
        // A full disk or queue: the next use of each key is noted again, and that is enough.
        if (outcome.problem != base::problem::none) co_return;
    }
}

}  // namespace latchkey::server
