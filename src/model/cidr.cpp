#include "model/cidr.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace latchkey::model {
namespace {

// Compares the first `bits` bits.
bool same_prefix(address const& left, address const& right, unsigned bits) {
    auto const whole = bits / 8;
    if (std::memcmp(left.bytes.data(), right.bytes.data(), whole) != 0) return false;
    if (bits % 8 == 0) return true;
    auto const differing = left.bytes[whole] ^ right.bytes[whole];
    return (differing >> (8 - bits % 8)) == 0;
}

bool has_host_bits(address const& network, unsigned prefix) {
    address masked;
    auto const whole = prefix / 8;
    std::copy_n(network.bytes.begin(), whole, masked.bytes.begin());
    if (prefix % 8 != 0)
        masked.bytes[whole] =
            static_cast<std::uint8_t>(network.bytes[whole] & (0xff00u >> prefix % 8));
    return masked != network;
}

// One to three digits without a leading zero, up to `maximum`.
std::optional<unsigned> parse_prefix(std::string_view text, unsigned maximum) {
    if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
    unsigned value = 0;
    auto const end = text.data() + text.size();
    auto const [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc{} || stop != end || value > maximum) return std::nullopt;
    return value;
}

}  // namespace

std::optional<cidr> cidr::parse(std::string_view text) {
    auto const slash = text.find('/');
    auto const network = address::parse(text.substr(0, slash));
    if (!network) return std::nullopt;
    if (slash == text.npos) return cidr{*network, 128};
    // The notation counts: ::ffff:10.0.0.0 takes a prefix of up to 128.
    auto const dotted = text.substr(0, slash).find(':') == text.npos;
    auto const prefix = parse_prefix(text.substr(slash + 1), dotted ? 32 : 128);
    if (!prefix) return std::nullopt;
    auto const bits = *prefix + (dotted ? 96 : 0);
    if (has_host_bits(*network, bits)) return std::nullopt;
    return cidr{*network, static_cast<std::uint8_t>(bits)};
}

bool cidr::contains(address const& client) const {
    return same_prefix(network, client, prefix);
}

bool cidr::contains(cidr const& other) const {
    return prefix <= other.prefix && contains(other.network);
}

std::string cidr::text() const {
    // The prefix of an IPv4 network is at least 96, since its host bits are zero.
    auto const length = network.is_v4() ? prefix - 96 : prefix;
    return network.text() + "/" + std::to_string(length);
}

}  // namespace latchkey::model
