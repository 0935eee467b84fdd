#include "server/balance.hpp"

#include "server/worker.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns patience = 10'000'000;
constexpr base::mono_ns wait_every = 1'000'000'000;
constexpr std::size_t waiting_max = 256;

}  // namespace

void balance::meet(std::vector<worker*> const& others) {
    others_.clear();
    for (auto* const each : others) others_.push_back({each});
}

void balance::admit(accepted const& socket) {
    arrived_.fetch_add(1, std::memory_order_relaxed);
    if (others_.empty() || home_.draining()) return home_.accept(socket);
    auto const mine = home_.connections(), most = home_.connections_max();
    if (mine >= most)
        for (auto& each : others_)
            if (each.who->connections() < most && give(each, socket)) return;
    auto& than = next();
    if (mine < fair_share(than.who->connections())) return home_.accept(socket);
    if (due_ == 0 && !may_wait_for(than, mine)) {
        if (!give(than, socket)) home_.accept(socket);
        return;
    }
    home_.expect(1);
    waiting_.push_back(socket);
    if (due_ == 0) due_ = home_.now().mono + patience;
    if (waiting_.size() == waiting_max) settle();
}

bool balance::may_wait_for(other const& than, std::size_t mine) const {
    return home_.now().mono >= next_wait_ && than.who->connections() < mine / 2 &&
           than.arrived_when_given != than.who->who_serves().arrived();
}

void balance::settle() {
    for (auto const& each : waiting_) {
        auto& to = next();
        bool const too_many = home_.connections() - 1 >= fair_share(to.who->connections());
        if (!too_many || !give(to, each)) home_.accept(each, 1);
        home_.expect(-1);
    }
    waiting_.clear();
    due_ = 0;
    next_wait_ = home_.now().mono + wait_every;
}

bool balance::give(other& to, accepted const& socket) {
    to.arrived_when_given = to.who->who_serves().arrived();
    if (!to.who->take_over(socket)) return false;
    home_.metrics().passed_on.add();
    return true;
}

}  // namespace latchkey::server
