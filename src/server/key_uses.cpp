#include "server/key_uses.hpp"

#include "base/log.hpp"
#include "server/worker.hpp"
#include "store/writer.hpp"

namespace latchkey::server {

coro::task<> report_key_uses(worker* on) {
    // What there is now. What comes while it is written waits for the next time, else a worker that
    // has requests would write all the time.
    std::vector<std::vector<store::key_use>> batches;
    while (!on->uses().empty()) batches.push_back(on->uses().take(store::key_uses_max));
    for (auto each = batches.begin(); each != batches.end(); ++each) {
        store::command command;
        command.what = store::note_key_uses{*each};
        store::commit done(on->shared().writer, on->mailbox(), std::move(command));
        store::outcome const& outcome = co_await done;
        if (outcome.problem == base::problem::none) continue;
        // A full disk or queue.
        std::uint64_t lost = 0;
        for (; each != batches.end(); ++each) lost += on->uses().put_back(*each);
        if (lost != 0)
            base::say(base::severity::warning,
                      "the usage of " + std::to_string(lost) + " requests could not be stored");
        co_return;
    }
    on->may_report_early();
}

}  // namespace latchkey::server
