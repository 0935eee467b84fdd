// Who the client of a connection is: the peer of its socket or, behind a trusted proxy, the one
// whom a PROXY header names, which precedes everything else on a listener that expects one. Belongs
// to its worker's thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "api/frame/request_services.hpp"
#include "server/net/proxy_header.hpp"
#include "server/worker_context.hpp"

namespace latchkey::server {

// A socket that was accepted.
struct accepted {
    int fd = -1;
    bool tls = false;
    bool proxy = false;                             // a PROXY header precedes everything
    std::optional<model::address> counted_address;  // as it has entered address_counts
};

// The peer of a socket; its `client` is nullopt when it has gone already.
api::peer peer_of(int fd, bool tls);

class client_identity {
  public:
    client_identity(worker_context& context, accepted const& socket);
    // The client's address has one connection less.
    ~client_identity();
    client_identity(client_identity const&) = delete;
    client_identity& operator=(client_identity const&) = delete;

    // Behind a proxy it changes with the last byte of the PROXY header.
    api::peer const& peer() const { return peer_; }
    // The client has turned out to speak without TLS.
    void set_plain() { peer_.tls = false; }

    // Whether the peer may name a client. From then on its header is due.
    bool expect_header();
    bool is_header_due() const { return header_due_; }
    // Removes what there is of the header from the front of `bytes`. `malformed`: or its client has
    // as many connections as it may; the connection has to end.
    proxy_header::progress take_header(std::string_view& bytes);
    // Heap memory of a header in pieces.
    std::size_t held_bytes() const;

  private:
    worker_context& context_;
    api::peer peer_;
    std::optional<model::address> counted_address_;
    std::string header_;  // that is not complete
    bool header_due_ = false;
};

}  // namespace latchkey::server
