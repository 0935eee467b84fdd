#include "server/net/connection_balancer.hpp"

#include "base/time_units.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns patience = 10 * base::millisecond;
constexpr base::mono_ns wait_interval = base::second;
constexpr std::size_t waiting_max = 256;

}  // namespace

void connection_balancer::set_peers(std::vector<connection_balancer*> const& peers) {
    peers_.clear();
    for (auto* const each : peers) peers_.push_back({each});
}

void connection_balancer::admit(accepted const& socket) {
    arrived_.fetch_add(1, std::memory_order_relaxed);
    if (peers_.empty() || context_.draining()) return admission_.accept(socket);
    auto const count = connections(), count_max = context_.connections_max();
    if (count >= count_max)
        for (auto& each : peers_)
            if (each.balancer->connections() < count_max && pass_on(each, socket)) return;
    auto& candidate = next();
    if (count < fair_share(candidate.balancer->connections())) return admission_.accept(socket);
    if (due_ == 0 && !may_receive_its_own(candidate, count)) {
        if (!pass_on(candidate, socket)) admission_.accept(socket);
        return;
    }
    context_.connections.expect();
    waiting_.push_back(socket);
    if (due_ == 0) due_ = context_.now.mono + patience;
    if (waiting_.size() == waiting_max) flush_waiting();
}

// The peer is much emptier, and something has arrived there since it was last given a connection.
bool connection_balancer::may_receive_its_own(peer const& candidate, std::size_t count) const {
    return context_.now.mono >= next_wait_ && candidate.balancer->connections() < count / 2 &&
           candidate.arrived_at_pass != candidate.balancer->arrived();
}

void connection_balancer::flush_waiting() {
    for (auto const& socket : waiting_) {
        auto& candidate = next();
        bool const too_many = connections() - 1 >= fair_share(candidate.balancer->connections());
        if (!too_many || !pass_on(candidate, socket)) admission_.accept(socket, true);
        context_.connections.end_expecting();
    }
    waiting_.clear();
    due_ = 0;
    next_wait_ = context_.now.mono + wait_interval;
}

bool connection_balancer::pass_on(peer& target, accepted const& socket) {
    target.arrived_at_pass = target.balancer->arrived();
    if (!target.balancer->take_over(socket)) return false;
    context_.metrics.passed_on.add();
    return true;
}

// On the passing worker's thread: this worker accepts the socket between two of its turns. It is
// counted before `draining` is read, so that a service which waits for the last connection sees it,
// or it is seen here that the service ends; then it stays the caller's.
bool connection_balancer::take_over(accepted const& socket) {
    context_.connections.expect();
    if (context_.shared.draining.load()) {
        context_.connections.end_expecting();
        return false;
    }
    context_.post([this, socket] {
        admission_.accept(socket, true);
        context_.connections.end_expecting();
    });
    return true;
}

}  // namespace latchkey::server
