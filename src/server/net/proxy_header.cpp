#include "server/net/proxy_header.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"

namespace latchkey::server {
namespace {

using progress = proxy_header::progress;

constexpr std::string_view signature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::uint8_t local_command = 0x20;  // version 2 in the high bits
constexpr std::uint8_t proxy_command = 0x21;
constexpr std::size_t command_offset = 12, family_offset = 13, length_offset = 14;

constexpr proxy_header malformed{.state = progress::malformed};

// The size of the addresses by family and transport; nullopt for an undefined pair. Datagram
// families are accepted too: a proxy that speaks HTTP/3 to its client sends them.
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

std::uint8_t byte_at(std::string_view bytes, std::size_t offset) {
    return static_cast<std::uint8_t>(bytes[offset]);
}

// The source address comes first.
std::optional<model::address> client_of(std::uint8_t family, std::string_view addresses) {
    model::address address;
    if (family >> 4 == 1) {
        address.bytes[10] = address.bytes[11] = 0xff;
        std::memcpy(address.bytes.data() + 12, addresses.data(), 4);
        return address;
    }
    if (family >> 4 != 2) return std::nullopt;
    std::memcpy(address.bytes.data(), addresses.data(), address.bytes.size());
    return address;
}

}  // namespace

proxy_header read_proxy_header(std::string_view bytes) {
    auto const checkable = std::min(bytes.size(), signature.size());
    if (bytes.substr(0, checkable) != signature.substr(0, checkable)) return malformed;
    if (bytes.size() <= command_offset) return {};
    auto const command = byte_at(bytes, command_offset);
    if (command != local_command && command != proxy_command) return malformed;
    if (bytes.size() <= family_offset) return {};
    auto const family = byte_at(bytes, family_offset);
    // LOCAL: the receiver must ignore the family, whatever it is.
    auto const bytes_min = command == local_command ? 0 : address_bytes(family);
    if (!bytes_min) return malformed;
    if (bytes.size() <= length_offset) return {};
    // The high byte of the length may already exceed the limit.
    if (byte_at(bytes, length_offset) > proxy_header::variable_bytes_max >> 8) return malformed;
    if (bytes.size() < proxy_header::fixed_bytes) return {};
    std::size_t const length = base::get<std::uint16_t>(bytes.data() + length_offset);
    if (length > proxy_header::variable_bytes_max || length < *bytes_min) return malformed;
    auto const size = proxy_header::fixed_bytes + length;
    if (bytes.size() < size) return {};
    proxy_header header{
        .state = progress::complete, .size = size, .relayed = command == proxy_command};
    if (header.relayed) header.client = client_of(family, bytes.substr(proxy_header::fixed_bytes));
    return header;
}

}  // namespace latchkey::server
