#include "model/public_address.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace latchkey::model {
namespace {

constexpr std::array<std::string_view, 18> special_v4{
    "0.0.0.0/8",         // this network; 0.0.0.0 reaches the host itself
    "10.0.0.0/8",        // private (RFC 1918)
    "100.64.0.0/10",     // carrier-grade NAT (RFC 6598), and 100.100.100.200: metadata
    "127.0.0.0/8",       // loopback
    "168.63.129.16/32",  // metadata and agent of Azure
    "169.254.0.0/16",    // link-local, and 169.254.169.254: metadata
    "172.16.0.0/12",     // private
    "192.0.0.0/24",      // IETF protocols, and 192.0.0.192: metadata
    "192.0.2.0/24",      // documentation
    "192.88.99.0/24",    // relays of 6to4 (RFC 7526)
    "192.168.0.0/16",    // private
    "198.18.0.0/15",     // benchmarks (RFC 2544)
    "198.51.100.0/24",   // documentation
    "203.0.113.0/24",    // documentation
    "224.0.0.0/4",       // multicast
    "240.0.0.0/4",       // reserved, and broadcast
    "192.31.196.0/24",   // AS112 (RFC 7535): sinks of names for private use
    "192.175.48.0/24",   // AS112 (RFC 7534)
};

// Of IPv6 only 2000::/3 is given out at all; these parts of it are special.
constexpr std::string_view unicast_v6 = "2000::/3";
constexpr std::array<std::string_view, 6> special_v6{
    "2001::/23",          // IETF protocols: Teredo, benchmarks, ORCHID
    "2001:db8::/32",      // documentation
    "2002::/16",          // 6to4
    "2620:4f:8000::/48",  // AS112
    "3ffe::/16",          // 6bone, given back (RFC 3701)
    "3fff::/20",          // documentation (RFC 9637)
};

template <std::size_t size>
std::vector<cidr> parse_all(std::array<std::string_view, size> const& texts) {
    std::vector<cidr> networks;
    for (auto const text : texts) networks.push_back(cidr::parse(text).value());
    return networks;
}

bool contains(std::span<cidr const> networks, address const& candidate) {
    return std::ranges::any_of(networks,
                               [&](cidr const& each) { return each.contains(candidate); });
}

// The interface identifier of ISATAP (RFC 5214 §6.1): an IPv4 address behind 00-00-5E-FE, with or
// without the bit "universal".
bool is_isatap(address const& candidate) {
    auto const& bytes = candidate.bytes;
    return (bytes[8] & 0xfd) == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe;
}

}  // namespace

bool is_public(address const& candidate) {
    static auto const v4 = parse_all(special_v4), v6 = parse_all(special_v6);
    static auto const unicast = cidr::parse(unicast_v6).value();
    if (candidate.is_v4()) return !contains(v4, candidate);
    return unicast.contains(candidate) && !contains(v6, candidate) && !is_isatap(candidate);
}

bool may_connect(address const& peer, bool encrypted, std::span<cidr const> allowed) {
    return contains(allowed, peer) || (encrypted && is_public(peer));
}

}  // namespace latchkey::model
