#include "delayed_commits.hpp"

#include <utility>

using latchkey::domain::ticket;
using latchkey::domain::writer;
using latchkey::fake::delayed_commits;

extern "C" {
// NOLINTBEGIN: the linker's names of domain::writer::submit
bool __real__ZN8latchkey6domain6writer6submitERNS0_6ticketE(writer*, ticket&);

bool __wrap__ZN8latchkey6domain6writer6submitERNS0_6ticketE(writer* self, ticket& ticket) {
    if (auto* const commits = delayed_commits::current()) return commits->delay(*self, ticket);
    return __real__ZN8latchkey6domain6writer6submitERNS0_6ticketE(self, ticket);
}
// NOLINTEND
}

namespace latchkey::fake {
namespace {

delayed_commits* instance = nullptr;

}  // namespace

delayed_commits::delayed_commits(world& simulation) : world_(simulation) {
    instance = this;
}

delayed_commits::~delayed_commits() {
    instance = nullptr;
}

delayed_commits* delayed_commits::current() {
    return instance;
}

bool delayed_commits::delay(domain::writer& writer, domain::ticket& ticket) {
    if (world_.strikes(fault::full_queue)) return false;
    delayed_.push_back({&ticket, ticket.executor});
    auto const longest = world_.strikes(fault::late_commit) ? second : 3 * ms;
    world_.after(static_cast<base::mono_ns>(world_.below(static_cast<std::uint64_t>(longest))),
                 [this, &writer] { commit(writer); });
    return true;
}

// All that are delayed are committed together, as after a long sync.
void delayed_commits::commit(domain::writer& writer) {
    auto const batch = std::exchange(delayed_, {});
    done_count_ = 0;
    for (auto const& each : batch) {
        each.ticket->executor = this;
        bool const submitted =
            __real__ZN8latchkey6domain6writer6submitERNS0_6ticketE(&writer, *each.ticket);
        world_.expect(submitted, "the writer's queue is full");
    }
    {
        std::unique_lock hold(mutex_);
        progress_.wait(hold, [&] { return done_count_ == batch.size(); });
    }
    for (auto const& each : batch) {
        each.ticket->executor = each.executor;
        each.executor->post(*each.ticket);
    }
}

void delayed_commits::post(coro::resumption&) noexcept {
    std::lock_guard const hold(mutex_);
    ++done_count_;
    progress_.notify_one();
}

}  // namespace latchkey::fake
