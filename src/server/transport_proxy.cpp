// The PROXY header at the beginning of a connection, on a listener that asks for it: before TLS,
// before HTTP, and within the time that a request's head would have.
#include "base/bytes.hpp"
#include "server/proxy_header.hpp"
#include "server/transport.hpp"
#include "server/worker.hpp"

namespace latchkey::server {

using state = enum proxy_header::state;  // hidden by the member of that name

// What anyone could say is not believed, and a client that came past the proxy is not served as if
// it had come through it.
void transport::expect_proxy_header() {
    if (!believes_proxy()) return begin_close();
    proxy_header_due_ = true;
    end_deadline_ = home_.now().mono +
                    static_cast<base::mono_ns>(home_.shared().configuration.http_header_seconds) *
                        1'000'000'000;
    arm_deadline();
}

bool transport::believes_proxy() const {
    if (!peer_.client) return peer_.local;  // a Unix socket: its file's mode says who may connect
    for (auto const& network : home_.shared().rules.trusted_proxies)
        if (network.contains(*peer_.client)) return true;
    return false;
}

// Takes the header off the front of `bytes`. False: nothing is left of them, or the connection
// ends.
bool transport::take_proxy_header(std::string_view& bytes) {
    auto const before = sealed_in_.size();
    // When it comes in pieces, no more than its bound is ever kept: by then it is decided.
    if (before != 0) sealed_in_.append(bytes.substr(0, proxy_header::bytes_max - before));
    auto const seen = read_proxy_header(before == 0 ? bytes : sealed_in_);
    if (seen.state == state::incomplete) {
        if (before == 0) sealed_in_.assign(bytes);
        account();
        return false;
    }
    base::wipe(sealed_in_.data(), sealed_in_.size());
    sealed_in_.clear();
    // The proxy itself may have any number of connections, its client what any client may have.
    if (seen.state == state::malformed ||
        (seen.relayed && !home_.may_enter(seen.client, counted_))) {
        abort();
        return false;
    }
    bytes.remove_prefix(seen.size - before);
    proxy_header_due_ = false;
    end_deadline_ = 0;
    arm_deadline();
    peer_.relayed = seen.relayed;
    if (seen.relayed) {
        peer_.client = seen.client;
        peer_.local = false;  // the client is where the proxy says, however near the proxy is
    }
    if (peer_.tls) begin_handshake();
    return !bytes.empty();
}

}  // namespace latchkey::server
