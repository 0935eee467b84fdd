#include "server/balance.hpp"

#include "server/worker.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns patience = 10'000'000;
constexpr std::size_t waiting_max = 256;

}  // namespace

void balance::meet(std::vector<worker*> const& others) {
    others_.clear();
    for (auto* const each : others) others_.push_back({each});
}

void balance::admit(accepted const& socket) {
    arrived_.fetch_add(1, std::memory_order_relaxed);
    if (others_.empty() || home_.draining()) return home_.accept(socket);
    auto& than = next();
    if (!is_over_share(than)) return home_.accept(socket);
    if (than.arrived_when_given == than.who->who_serves().arrived()) {
        if (!give(than, socket)) home_.accept(socket);
        return;
    }
    home_.expect(1);
    waiting_.push_back(socket);
    if (due_ == 0) due_ = home_.now().mono + patience;
    if (waiting_.size() == waiting_max) settle();
}

void balance::settle() {
    for (auto const& each : waiting_) {
        home_.expect(-1);
        auto& to = next();
        if (!is_over_share(to) || !give(to, each)) home_.accept(each);
    }
    waiting_.clear();
    due_ = 0;
}

bool balance::is_over_share(other const& than) const {
    return home_.connections() >= fair_share(than.who->connections());
}

bool balance::give(other& to, accepted const& socket) {
    to.arrived_when_given = to.who->who_serves().arrived();
    if (!to.who->take_over(socket)) return false;
    home_.metrics().passed_on.add();
    return true;
}

}  // namespace latchkey::server
