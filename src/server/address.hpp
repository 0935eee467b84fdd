// Where to listen, as a URL says it: https://HOST:PORT, http://HOST:PORT, unix:PATH. HOST is an
// address ([…] around IPv6) or localhost; names are not looked up. fd:NAME are the sockets that the
// service manager hands in under that name, which says what is spoken there: a name that begins
// with https TLS, one with http or unix none. With `?proxy=v2` behind it every
// connection must begin with a PROXY header (proxy_header.hpp). Values, any thread.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/cidr.hpp"

namespace latchkey::server {

struct listen_address {
    enum class kind : std::uint8_t { https, http, unix_socket, handed };
    kind scheme = kind::https;
    model::address host;
    std::uint16_t port = 0;  // 0: a free one
    std::string path;        // of a Unix socket; the name of sockets that are handed in
    bool proxy = false;      // a proxy says first who the client is

    bool tls() const {
        return scheme == kind::https || (scheme == kind::handed && path.starts_with("https"));
    }
    std::string url() const;
};

base::result<listen_address> parse_listen_address(std::string_view text);

// The kernel's form and back; nullopt for a family that is neither IPv4 nor IPv6.
socklen_t to_sockaddr(listen_address const& where, sockaddr_storage& to);
std::optional<model::address> from_sockaddr(sockaddr_storage const& from);
std::uint16_t port_of(sockaddr_storage const& from);

}  // namespace latchkey::server
