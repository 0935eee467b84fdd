#include "server/proxy_header.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"

namespace latchkey::server {
namespace {

using state = enum proxy_header::state;  // hidden by the member of that name

constexpr std::string_view signature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::uint8_t local_command = 0x20;  // version 2 in the high bits
constexpr std::uint8_t proxy_command = 0x21;
constexpr std::size_t command_at = 12, family_at = 13, length_at = 14;

constexpr proxy_header malformed{.state = state::malformed};

// How many bytes of addresses a family and transport have; nullopt for a pair that does not exist.
// A datagram's addresses are the same: a proxy that speaks HTTP/3 to its client names them so.
std::optional<std::size_t> address_bytes(std::uint8_t family) {
    switch (family) {
        case 0x00:
            return 0;
        case 0x11:
        case 0x12:
            return 2 * 4 + 2 * 2;
        case 0x21:
        case 0x22:
            return 2 * 16 + 2 * 2;
        case 0x31:
        case 0x32:
            return 2 * 108;
        default:
            return std::nullopt;
    }
}

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
    return static_cast<std::uint8_t>(bytes[at]);
}

// The source address comes first.
std::optional<model::address> client_of(std::uint8_t family, std::string_view addresses) {
    model::address who;
    if (family >> 4 == 1) {
        who.bytes[10] = who.bytes[11] = 0xff;
        std::memcpy(who.bytes.data() + 12, addresses.data(), 4);
        return who;
    }
    if (family >> 4 != 2) return std::nullopt;
    std::memcpy(who.bytes.data(), addresses.data(), who.bytes.size());
    return who;
}

}  // namespace

proxy_header read_proxy_header(std::string_view bytes) {
    auto const begun = std::min(bytes.size(), signature.size());
    if (bytes.substr(0, begun) != signature.substr(0, begun)) return malformed;
    if (bytes.size() <= command_at) return {};
    auto const command = byte_at(bytes, command_at);
    if (command != local_command && command != proxy_command) return malformed;
    if (bytes.size() <= family_at) return {};
    auto const family = byte_at(bytes, family_at);
    // The proxy's own connection: the family is to be ignored, whatever it is.
    auto const least = command == local_command ? 0 : address_bytes(family);
    if (!least) return malformed;
    if (bytes.size() <= length_at) return {};
    // The first byte of the length alone may say that it is too long.
    if (byte_at(bytes, length_at) > proxy_header::variable_bytes_max >> 8) return malformed;
    if (bytes.size() < proxy_header::fixed_bytes) return {};
    std::size_t const length = base::get<std::uint16_t>(bytes.data() + length_at);
    if (length > proxy_header::variable_bytes_max || length < *least) return malformed;
    auto const size = proxy_header::fixed_bytes + length;
    if (bytes.size() < size) return {};
    proxy_header made{.state = state::complete, .size = size, .relayed = command == proxy_command};
    if (made.relayed) made.client = client_of(family, bytes.substr(proxy_header::fixed_bytes));
    return made;
}

}  // namespace latchkey::server
