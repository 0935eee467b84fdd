#include "server/worker_context.hpp"

#include <algorithm>
#include <utility>

#include "auth/key_form.hpp"
#include "base/limits.hpp"

namespace latchkey::server {
namespace {

struct posted_task : coro::resumption {
    std::function<void()> task;
};

}  // namespace

base::result<void> worker_context::open() {
    thread_.attach();
    auto ring = uring::ring::make();
    if (!ring) return ring.error();
    ring_ = std::move(*ring);
    auto buffers =
        uring::buffers::make(*ring_, receive_buffers, base::limits::receive_buffer_bytes);
    if (!buffers) return buffers.error();
    buffers_ = std::move(*buffers);
    auto mailbox = uring::mailbox::make(*ring_);
    if (!mailbox) return mailbox.error();
    mailbox_ = std::move(*mailbox);
    now = base::read_clocks();
    timers_ = std::make_unique<uring::timers>(now.mono);
    std::uint64_t seed = 0;
    auth::random_bytes(&seed, sizeof seed);
    anonymous.set_seed(seed);
    adopt(configuration);
    return {};
}

void worker_context::close() {
    buffers_.reset();
    ring_.reset();
}

void worker_context::adopt(worker_config next) {
    // Connections that are open keep the TLS context they began with.
    if (next.identity != configuration.identity) tls_.reset();
    configuration = std::move(next);
    prepare_tls();
    memory.set_bytes_max(current_config().overload_queued_mib << 20);
    anonymous.set_bytes_max(
        std::max(base::limits::credential_bodies_bytes_max / worker_count(current_config()),
                 base::limits::credential_body_bytes_max));
    recorder.sample(current_config().tracing_sample_ratio);
    sessions.configuration = {configuration.rules, &configuration.rules->sessions};
}

void worker_context::prepare_tls() {
    if (configuration.identity && !tls_)
        tls_ = std::make_shared<tls::context>(configuration.identity, configuration.tickets,
                                              &shared.signer);
    if (!tls_) return;
    tls_->use(configuration.tickets);
    tls_->offer_http2(current_config().http2);
}

void worker_context::post(std::function<void()> task) {
    auto* const node = new posted_task;
    node->task = std::move(task);
    node->run = [](coro::resumption& self) {
        std::unique_ptr<posted_task> const owned(&static_cast<posted_task&>(self));
        owned->task();
    };
    mailbox_->post(*node);
}

void worker_context::record(session::stream const& request, api::peer const& client) {
    auto const cost = sessions.services->snapshot.work().cost();
    bool const is_long = cost - std::exchange(known_cost_, cost) > small_cost_max;
    budget.note_time(recorder.record(request, client, now.mono, is_long));
}

bool worker_context::is_trusted_proxy(model::address const& address) const {
    return configuration.rules->interface.trusts(address);
}

bool worker_context::enter_address(std::optional<model::address> const& client,
                                   std::optional<model::address>& counted) {
    if (!shared.open_by_address.on() || !client || is_trusted_proxy(*client)) return true;
    auto const address = limit::network_of(*client);
    if (!shared.open_by_address.enter(address)) return false;
    counted = address;
    return true;
}

}  // namespace latchkey::server
