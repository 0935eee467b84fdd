#include "server/observe/key_uses.hpp"

#include <chrono>
#include <thread>

#include "base/system/log.hpp"

namespace latchkey::server {

key_use_reporter::key_use_reporter(worker_context& context, auth::usage_counter& uses)
    : context_(context), uses_(uses) {
    timer_.self = this;
    timer_.fire = [](uring::timers::entry& self, base::mono_ns) {
        static_cast<interval_timer&>(self).self->report();
    };
}

void key_use_reporter::report() {
    context_.timers().arm(timer_, context_.now.mono + interval);
    may_report_early_ = uses_.empty();
    if (!uses_.empty()) submissions_.spawn(submit, this);
}

// Hands over what there is now; what is counted meanwhile waits for the next time, or a busy worker
// would write all the time. What the store refuses, because of a full disk or queue, is kept.
coro::task<> key_use_reporter::submit(key_use_reporter* self) {
    auto& uses = self->uses_;
    auto& context = self->context_;
    std::vector<domain::note_key_uses> batches;
    while (!uses.empty()) batches.push_back({uses.take(domain::key_uses_max), uses.take_exposed()});
    for (auto batch = batches.begin(); batch != batches.end(); ++batch) {
        domain::command command;
        command.action = *batch;
        domain::commit done(context.shared.writer, context.mailbox(), std::move(command));
        domain::outcome const& outcome = co_await done;
        if (outcome.problem == base::problem::none) continue;
        std::uint64_t loss = 0;
        for (; batch != batches.end(); ++batch) {
            loss += uses.put_back(batch->uses);
            for (auto const& each : batch->exposed) uses.expose(each);
        }
        if (loss != 0)
            base::log(base::severity::warning,
                      "the usage of " + std::to_string(loss) + " requests could not be stored");
        co_return;
    }
    self->may_report_early_ = true;
}

void key_use_reporter::report_rest(std::function<void()> const& turn) {
    context_.timers().remove(timer_);
    for (int attempt = 0; attempt < 100 && !uses_.empty(); ++attempt) {
        if (attempt != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        submissions_.spawn(submit, this);
        while (submissions_.size() != 0) turn();
    }
    if (!uses_.empty())
        base::log(base::severity::warning, "the last uses of keys could not be stored");
}

}  // namespace latchkey::server
