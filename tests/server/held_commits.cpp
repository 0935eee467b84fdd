#include "held_commits.hpp"

#include <utility>

using latchkey::fake::held_commits;
using latchkey::store::ticket;
using latchkey::store::writer;

extern "C" {
// NOLINTBEGIN: the linker's names of store::writer::submit
bool __real__ZN8latchkey5store6writer6submitERNS0_6ticketE(writer*, ticket&);

bool __wrap__ZN8latchkey5store6writer6submitERNS0_6ticketE(writer* self, ticket& waiting) {
    if (auto* const all = held_commits::current()) return all->take(*self, waiting);
    return __real__ZN8latchkey5store6writer6submitERNS0_6ticketE(self, waiting);
}
// NOLINTEND
}

namespace latchkey::fake {
namespace {

held_commits* the_one = nullptr;

}  // namespace

held_commits::held_commits(world& of) : world_(of) {
    the_one = this;
}

held_commits::~held_commits() {
    the_one = nullptr;
}

held_commits* held_commits::current() {
    return the_one;
}

bool held_commits::take(store::writer& through, store::ticket& waiting) {
    if (world_.strikes(fault::full_queue)) return false;
    held_.push_back({&waiting, waiting.home});
    auto const longest = world_.strikes(fault::late_commit) ? second : 3 * ms;
    world_.after(static_cast<base::mono_ns>(world_.below(static_cast<std::uint64_t>(longest))),
                 [this, &through] { commit(through); });
    return true;
}

// All that wait go together, as they would after a long sync.
void held_commits::commit(store::writer& through) {
    auto const now = std::exchange(held_, {});
    done_ = 0;
    for (auto const& each : now) {
        each.ticket->home = this;
        bool const taken =
            __real__ZN8latchkey5store6writer6submitERNS0_6ticketE(&through, *each.ticket);
        world_.expect(taken, "the writer's queue is full");
    }
    {
        std::unique_lock hold(mutex_);
        one_more_.wait(hold, [&] { return done_ == now.size(); });
    }
    for (auto const& each : now) {
        each.ticket->home = each.home;
        each.home->post(*each.ticket);
    }
}

void held_commits::post(coro::resumption&) noexcept {
    std::lock_guard const hold(mutex_);
    ++done_;
    one_more_.notify_one();
}

}  // namespace latchkey::fake
