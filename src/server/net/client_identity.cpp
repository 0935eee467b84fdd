#include "server/net/client_identity.hpp"

#include <sys/socket.h>

#include "base/bytes.hpp"
#include "base/heap_bytes.hpp"
#include "server/process/listen_address.hpp"

namespace latchkey::server {

using progress = proxy_header::progress;

api::peer peer_of(int fd, bool tls) {
    api::peer peer;
    peer.tls = tls;
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return peer;
    peer.client = from_sockaddr(address);
    peer.local = address.ss_family == AF_UNIX || (peer.client && peer.client->is_loopback());
    return peer;
}

client_identity::client_identity(worker_context& context, accepted const& socket)
    : context_(context),
      peer_(peer_of(socket.fd, socket.tls)),
      counted_address_(socket.counted_address) {}

client_identity::~client_identity() {
    if (counted_address_) context_.shared.open_by_address.leave(*counted_address_);
}

// Only a trusted peer may name a client, and a client that bypasses the proxy is not served as if
// it had come through it. A Unix socket has no address: its file's mode says who may connect.
bool client_identity::expect_header() {
    bool const is_trusted = peer_.client ? context_.is_trusted_proxy(*peer_.client) : peer_.local;
    header_due_ = is_trusted;
    return is_trusted;
}

progress client_identity::take_header(std::string_view& bytes) {
    auto const earlier_bytes = header_.size();
    // Of a header in pieces no more than its bound is earlier: by then it is complete or malformed.
    if (earlier_bytes != 0)
        header_.append(bytes.substr(0, proxy_header::bytes_max - earlier_bytes));
    auto const header = read_proxy_header(earlier_bytes == 0 ? bytes : header_);
    if (header.state == progress::incomplete) {
        if (earlier_bytes == 0) header_.assign(bytes);
        return header.state;
    }
    base::wipe(header_.data(), header_.size());
    std::string().swap(header_);
    if (header.state == progress::malformed) return header.state;
    // The proxy itself may have any number of connections, each client as many as any other.
    if (header.relayed && !context_.enter_address(header.client, counted_address_))
        return progress::malformed;
    bytes.remove_prefix(header.size - earlier_bytes);
    header_due_ = false;
    peer_.relayed = header.relayed;
    peer_.is_proxy = !header.relayed;
    if (header.relayed) {
        peer_.client = header.client;
        peer_.local = false;  // the client may be far away, however near the proxy is
    }
    return progress::complete;
}

std::size_t client_identity::held_bytes() const {
    return base::heap_bytes(header_);
}

}  // namespace latchkey::server
