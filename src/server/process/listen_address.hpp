// Listen addresses as URLs: https://HOST:PORT, http://HOST:PORT, unix:PATH. HOST is an address ([…]
// around IPv6) or localhost; host names are not resolved. fd:NAME stands for the sockets that the
// service manager passes in under that name; a name that begins with https means TLS, with http or
// unix no TLS. With `?proxy=v2` appended every connection must begin with a PROXY header
// (proxy_header.hpp). Values; any thread.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/address.hpp"

namespace latchkey::server {

struct listen_address {
    enum class kind : std::uint8_t { https, http, unix_socket, passed_in };
    kind scheme = kind::https;
    model::address host;
    std::uint16_t port = 0;  // 0: any free port
    std::string path;        // of a Unix socket; the name of passed-in sockets
    bool proxy = false;      // connections begin with a PROXY header
    bool v4_too = false;     // of [::]: IPv4 reaches it as well

    bool tls() const {
        return scheme == kind::https || (scheme == kind::passed_in && path.starts_with("https"));
    }
    std::string url() const;
};

base::result<listen_address> parse_listen_address(std::string_view text);

// IPv4 of a port belongs to the listener that has an IPv4 address there, and not to [::].
void leave_v4_to_others(std::span<listen_address> all);

// Conversion to and from the kernel's form; nullopt for families other than IPv4 and IPv6.
socklen_t to_sockaddr(listen_address const& address, sockaddr_storage& output);
std::optional<model::address> from_sockaddr(sockaddr_storage const& source);
std::uint16_t port_of(sockaddr_storage const& source);

}  // namespace latchkey::server
