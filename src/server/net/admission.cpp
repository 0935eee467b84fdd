#include "server/net/admission.hpp"

#include "base/time_units.hpp"
#include "server/net/connection.hpp"
#include "uring/socket.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns shedding_interval = 100 * base::millisecond;  // it walks all connections

}  // namespace

void admission::accept(accepted socket, bool expected) {
    auto& context = context_;
    bool const limited = context.shared.open_by_address.on();
    auto const open = context.connections.count() - (expected ? 1 : 0);
    if (aborting_ || open >= context.current_config().connections ||
        (limited &&
         !context.enter_address(peer_of(socket.fd, socket.tls).client, socket.counted_address))) {
        uring::close(context.ring(), socket.fd);
        context.metrics.turned_down.add();
        return;
    }
    context.metrics.accepted.add();
    context.drain.postpone();
    scope_.spawn(serve, &context, socket);
}

void admission::abort() {
    aborting_ = true;
    context_.connections.for_each([](transport& connection) { connection.abort(); });
}

void admission::end_idle() {
    bool const all = context_.drain.ends_idle();
    context_.connections.for_each([all](transport& connection) {
        if (all || connection.notifies()) connection.end_idle();
    });
}

// Load shedding: past its budget a worker refuses everyone's requests. Above half of it, slow
// readers are reset first: over their share, and no progress of a send for a second.
void admission::shed_slow_readers() {
    auto const now = context_.now.mono;
    if (now < next_shedding_) return;
    next_shedding_ = now + shedding_interval;
    auto const share = context_.memory.fair_share(context_.connections.count());
    context_.connections.for_each([&](transport& connection) {
        if (connection.exceeds_fair_share(share, now)) connection.reset();
    });
}

}  // namespace latchkey::server
