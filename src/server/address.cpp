#include "server/address.hpp"

#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace latchkey::server {
namespace {

base::error not_an_address(std::string_view text) {
    return {"'" + std::string(text) +
            "' is not an address to listen on; write https://127.0.0.1:8443, http://[::1]:8080 or "
            "unix:/run/latchkey.sock, or fd:https for sockets that are handed in, with ?proxy=v2 "
            "behind it if a proxy begins with that header"};
}

constexpr std::string_view proxy_option = "?proxy=v2";

}  // namespace

base::result<listen_address> parse_listen_address(std::string_view text) {
    listen_address where;
    std::string_view rest = text;
    if (rest.ends_with(proxy_option)) {
        where.proxy = true;
        rest.remove_suffix(proxy_option.size());
    }
    if (rest.starts_with("unix:")) {
        where.scheme = listen_address::kind::unix_socket;
        where.path = rest.substr(5);
        // A question mark is an option that does not exist, and not to be taken for a file's name.
        if (where.path.empty() || where.path.find('?') != where.path.npos ||
            where.path.size() >= sizeof(sockaddr_un::sun_path))
            return not_an_address(text);
        return where;
    }
    if (rest.starts_with("fd:")) {
        where.scheme = listen_address::kind::handed;
        where.path = rest.substr(3);
        bool const named = where.path.starts_with("http") || where.path.starts_with("unix");
        if (!named || where.path.find_first_of(":/? ") != where.path.npos)
            return not_an_address(text);
        return where;
    }
    if (rest.starts_with("https://"))
        rest.remove_prefix(8);
    else if (rest.starts_with("http://"))
        rest.remove_prefix(7), where.scheme = listen_address::kind::http;
    else
        return not_an_address(text);
    if (rest.ends_with('/')) rest.remove_suffix(1);
    auto const colon = rest.rfind(':');
    if (colon == rest.npos) return not_an_address(text);
    auto host = rest.substr(0, colon);
    auto const port = rest.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    auto const address = model::address::parse(host == "localhost" ? "127.0.0.1" : host);
    auto const [end, failure] = std::from_chars(port.data(), port.data() + port.size(), where.port);
    if (!address || failure != std::errc{} || end != port.data() + port.size())
        return not_an_address(text);
    where.host = *address;
    return where;
}

std::string listen_address::url() const {
    std::string const option(proxy ? proxy_option : "");
    if (scheme == kind::unix_socket) return "unix:" + path + option;
    if (scheme == kind::handed) return "fd:" + path + option;
    auto const text = host.is_v4() ? host.text() : "[" + host.text() + "]";
    return (tls() ? "https://" : "http://") + text + ":" + std::to_string(port) + option;
}

socklen_t to_sockaddr(listen_address const& where, sockaddr_storage& to) {
    std::memset(&to, 0, sizeof to);
    if (where.scheme == listen_address::kind::unix_socket) {
        auto& local = reinterpret_cast<sockaddr_un&>(to);
        local.sun_family = AF_UNIX;
        std::copy(where.path.begin(), where.path.end(), local.sun_path);
        return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + where.path.size() + 1);
    }
    if (where.host.is_v4()) {
        auto& v4 = reinterpret_cast<sockaddr_in&>(to);
        v4.sin_family = AF_INET;
        v4.sin_port = htons(where.port);
        std::memcpy(&v4.sin_addr, where.host.bytes.data() + 12, 4);
        return sizeof v4;
    }
    auto& v6 = reinterpret_cast<sockaddr_in6&>(to);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(where.port);
    std::memcpy(&v6.sin6_addr, where.host.bytes.data(), 16);
    return sizeof v6;
}

std::optional<model::address> from_sockaddr(sockaddr_storage const& from) {
    model::address who;
    if (from.ss_family == AF_INET) {
        who.bytes[10] = who.bytes[11] = 0xff;
        std::memcpy(who.bytes.data() + 12, &reinterpret_cast<sockaddr_in const&>(from).sin_addr, 4);
        return who;
    }
    if (from.ss_family != AF_INET6) return std::nullopt;
    std::memcpy(who.bytes.data(), &reinterpret_cast<sockaddr_in6 const&>(from).sin6_addr, 16);
    return who;
}

std::uint16_t port_of(sockaddr_storage const& from) {
    if (from.ss_family == AF_INET)
        return ntohs(reinterpret_cast<sockaddr_in const&>(from).sin_port);
    if (from.ss_family == AF_INET6)
        return ntohs(reinterpret_cast<sockaddr_in6 const&>(from).sin6_port);
    return 0;
}

}  // namespace latchkey::server
