#include "server/net/admission.hpp"

#include <algorithm>

#include "server/net/connection.hpp"
#include "uring/socket.hpp"

namespace latchkey::server {
void admission::accept(accepted socket, bool expected) {
    auto& context = context_;
    bool const limited = context.shared.open_by_address.on();
    auto const open = context.connections.count() - (expected ? 1 : 0);
    if (aborting_ || open >= context.connections_max() ||
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

// Load shedding: all connections are walked, so not in every turn.
void admission::relieve_memory() {
    auto const now = context_.now.mono;
    if (now < next_relief_) return;
    next_relief_ = now + holder_watch::look_every;
    auto const& memory = context_.memory;
    auto const share = memory.fair_share(context_.connections.count());
    auto const end = [](transport& connection) { connection.reset(); };
    context_.connections.for_each([&](transport& connection) {
        auto const standing = connection.look(share, now);
        if (standing == holder_watch::standing::slow)
            end(connection);
        else if (connection.held_bytes() != 0)
            holdings_.push_back({connection.owner(), connection.held_bytes(), &connection,
                                 standing == holder_watch::standing::heavy});
    });
    end_beyond(holdings_, memory.bytes_max(), memory.owner_bytes_max(), end);
    holdings_.clear();
}

}  // namespace latchkey::server
