#include "server/net/admission.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "runtime/uring/socket.hpp"
#include "server/net/connection.hpp"

namespace latchkey::server {
namespace {

// Whose memory a connection holds: the key's that was last shown, the client's address, or its own.
// Clients of a trusted proxy share its address, so each of its connections is for itself.
std::uint64_t owner_of(worker_context const& context, transport& connection) {
    if (auto const key = connection.flow().key(); key != 0) return key;
    constexpr std::uint64_t no_key = std::uint64_t{1} << 63;
    auto const& client = connection.peer().client;
    if (!client || context.is_trusted_proxy(*client))
        return reinterpret_cast<std::uintptr_t>(&connection) | no_key;
    auto const network = limit::network_of(*client);
    auto const& bytes = network.bytes;
    return base::hash({reinterpret_cast<char const*>(bytes.data()), bytes.size()}) | no_key;
}

}  // namespace

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
        if (all || connection.notes.notifies) connection.end_idle();
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
        if (connection.closing()) return;  // to end it again frees nothing
        auto const standing = connection.flow().look(share, now);
        if (standing == holder_watch::standing::slow)
            end(connection);
        else if (auto const bytes = connection.flow().held_bytes(); bytes != 0)
            holdings_.push_back({owner_of(context_, connection), bytes, &connection,
                                 standing == holder_watch::standing::heavy});
    });
    end_beyond(holdings_, memory.bytes_max(), memory.owner_bytes_max(), end);
    holdings_.clear();
}

}  // namespace latchkey::server
