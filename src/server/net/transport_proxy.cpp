// The PROXY header at the beginning of a connection, on a listener that expects one: before TLS,
// and within the time of a request's head.
#include "base/bytes.hpp"
#include "server/net/proxy_header.hpp"
#include "server/net/transport.hpp"

namespace latchkey::server {

using progress = proxy_header::progress;

// Only a trusted peer may name a client, and a client that bypasses the proxy is not served as if
// it had come through it.
void transport::expect_proxy_header() {
    if (!trusts_peer()) return begin_close();
    proxy_header_due_ = true;
    end_deadline_ = seconds_from_now(context_.current_config().http_header_seconds);
    arm_deadline();
}

bool transport::trusts_peer() const {
    if (!peer_.client) return peer_.local;  // a Unix socket: its file's mode says who may connect
    return context_.is_trusted_proxy(*peer_.client);
}

// Removes the header from the front of `bytes`. False: it is incomplete, nothing is left behind
// it, or the connection ends.
bool transport::take_proxy_header(std::string_view& bytes) {
    auto const earlier = sealed_input_.size();
    // Of a header in pieces no more than its bound is earlier: by then it is complete or malformed.
    if (earlier != 0) sealed_input_.append(bytes.substr(0, proxy_header::bytes_max - earlier));
    auto const header = read_proxy_header(earlier == 0 ? bytes : sealed_input_);
    if (header.state == progress::incomplete) {
        if (earlier == 0) sealed_input_.assign(bytes);
        account();
        if (!context_.memory.admits(held_bytes())) reset();
        return false;
    }
    base::wipe(sealed_input_.data(), sealed_input_.size());
    sealed_input_.clear();
    // The proxy itself may have any number of connections, each client as many as any other.
    if (header.state == progress::malformed ||
        (header.relayed && !context_.enter_address(header.client, counted_address_))) {
        abort();
        return false;
    }
    bytes.remove_prefix(header.size - earlier);
    proxy_header_due_ = false;
    end_deadline_ = 0;
    arm_deadline();
    peer_.relayed = header.relayed;
    peer_.is_proxy = !header.relayed;
    if (header.relayed) {
        peer_.client = header.client;
        peer_.local = false;  // the client may be far away, however near the proxy is
    }
    if (peer_.tls) begin_handshake();
    ready_since_ = context_.now.mono;
    if (bytes.empty() && !peer_.tls) wake_first_wait();
    return !bytes.empty();
}

}  // namespace latchkey::server
