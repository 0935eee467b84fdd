#include "server/process/listen_address.hpp"

#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/ascii.hpp"

namespace latchkey::server {
namespace {

base::error not_an_address(std::string_view text) {
    return {
        "'" + std::string(text) +
        "' is not an address to listen on; write https://127.0.0.1:8443, http://[::1]:8080 or "
        "unix:/run/latchkey.sock, or fd:https for sockets that systemd passes in, with ?proxy=v2 "
        "appended if a proxy sends that header"};
}

constexpr std::string_view proxy_option = "?proxy=v2";

}  // namespace

base::result<listen_address> parse_listen_address(std::string_view text) {
    listen_address result;
    std::string_view rest = text;
    if (rest.ends_with(proxy_option)) {
        result.proxy = true;
        rest.remove_suffix(proxy_option.size());
    }
    if (rest.starts_with("unix:")) {
        result.scheme = listen_address::kind::unix_socket;
        result.path = rest.substr(5);
        // A question mark is an unknown option rather than part of a file name.
        if (result.path.empty() || result.path.find('?') != result.path.npos ||
            result.path.size() >= sizeof(sockaddr_un::sun_path))
            return not_an_address(text);
        return result;
    }
    if (rest.starts_with("fd:")) {
        result.scheme = listen_address::kind::passed_in;
        result.path = rest.substr(3);
        bool const named = result.path.starts_with("http") || result.path.starts_with("unix");
        if (!named || result.path.find_first_of(":/? ") != result.path.npos)
            return not_an_address(text);
        return result;
    }
    if (base::begins_ignoring_case(rest, "https://"))
        rest.remove_prefix(8);
    else if (base::begins_ignoring_case(rest, "http://"))
        rest.remove_prefix(7), result.scheme = listen_address::kind::http;
    else
        return not_an_address(text);
    if (rest.ends_with('/')) rest.remove_suffix(1);
    auto const colon = rest.rfind(':');
    if (colon == rest.npos) return not_an_address(text);
    auto host = rest.substr(0, colon);
    auto const port = rest.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    auto const address = model::address::parse(host == "localhost" ? "127.0.0.1" : host);
    auto const [end, failure] =
        std::from_chars(port.data(), port.data() + port.size(), result.port);
    if (!address || failure != std::errc{} || end != port.data() + port.size())
        return not_an_address(text);
    result.host = *address;
    result.v4_too = result.host == model::address{};
    return result;
}

std::string listen_address::url() const {
    std::string const option(proxy ? proxy_option : "");
    if (scheme == kind::unix_socket) return "unix:" + path + option;
    if (scheme == kind::passed_in) return "fd:" + path + option;
    auto const text = host.is_v4() ? host.text() : "[" + host.text() + "]";
    return (tls() ? "https://" : "http://") + text + ":" + std::to_string(port) + option;
}

socklen_t to_sockaddr(listen_address const& address, sockaddr_storage& output) {
    std::memset(&output, 0, sizeof output);
    if (address.scheme == listen_address::kind::unix_socket) {
        auto& local = reinterpret_cast<sockaddr_un&>(output);
        local.sun_family = AF_UNIX;
        std::copy(address.path.begin(), address.path.end(), local.sun_path);
        return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.path.size() + 1);
    }
    if (address.host.is_v4()) {
        auto& v4 = reinterpret_cast<sockaddr_in&>(output);
        v4.sin_family = AF_INET;
        v4.sin_port = htons(address.port);
        std::memcpy(&v4.sin_addr, address.host.bytes.data() + 12, 4);
        return sizeof v4;
    }
    auto& v6 = reinterpret_cast<sockaddr_in6&>(output);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    std::memcpy(&v6.sin6_addr, address.host.bytes.data(), 16);
    return sizeof v6;
}

void leave_v4_to_others(std::span<listen_address> all) {
    for (auto& each : all)
        each.v4_too = each.v4_too && std::ranges::none_of(all, [&](listen_address const& other) {
                          return other.host.is_v4() && other.port == each.port && each.port != 0;
                      });
}

std::optional<model::address> from_sockaddr(sockaddr_storage const& source) {
    model::address address;
    if (source.ss_family == AF_INET) {
        address.bytes[10] = address.bytes[11] = 0xff;
        std::memcpy(address.bytes.data() + 12,
                    &reinterpret_cast<sockaddr_in const&>(source).sin_addr, 4);
        return address;
    }
    if (source.ss_family != AF_INET6) return std::nullopt;
    std::memcpy(address.bytes.data(), &reinterpret_cast<sockaddr_in6 const&>(source).sin6_addr, 16);
    return address;
}

std::uint16_t port_of(sockaddr_storage const& source) {
    if (source.ss_family == AF_INET)
        return ntohs(reinterpret_cast<sockaddr_in const&>(source).sin_port);
    if (source.ss_family == AF_INET6)
        return ntohs(reinterpret_cast<sockaddr_in6 const&>(source).sin6_port);
    return 0;
}

}  // namespace latchkey::server
