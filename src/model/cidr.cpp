#include "model/cidr.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/text.hpp"

namespace latchkey::model {
namespace {

constexpr std::array<std::uint8_t, 12> v4_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// "255.", with as many bytes of it as count.
struct octet {
    char text[4];
    std::uint8_t size;
};
constexpr auto octets = [] {
    std::array<octet, 256> all{};
    for (unsigned value = 0; value < all.size(); ++value) {
        auto& [text, size] = all[value];
        if (value >= 100) text[size++] = static_cast<char>('0' + value / 100);
        if (value >= 10) text[size++] = static_cast<char>('0' + value / 10 % 10);
        text[size++] = static_cast<char>('0' + value % 10);
        text[size++] = '.';
    }
    return all;
}();

// Are the first `bits` bits the same?
bool same_prefix(address const& left, address const& right, unsigned bits) {
    auto const whole = bits / 8;
    if (std::memcmp(left.bytes.data(), right.bytes.data(), whole) != 0) return false;
    if (bits % 8 == 0) return true;
    auto const differing = left.bytes[whole] ^ right.bytes[whole];
    return (differing >> (8 - bits % 8)) == 0;
}

bool has_host_bits(address const& network, unsigned prefix) {
    address cut;
    auto const whole = prefix / 8;
    std::copy_n(network.bytes.begin(), whole, cut.bytes.begin());
    if (prefix % 8 != 0)
        cut.bytes[whole] =
            static_cast<std::uint8_t>(network.bytes[whole] & (0xff00u >> prefix % 8));
    return cut != network;
}

// The zeros that "::" stands for: the longest run of groups, the first of equals, and never one
// group alone (RFC 5952 §4.2). None: both 0xff.
struct gap {
    std::size_t begin = 0xff, end = 0xff;
};
gap longest_gap(std::array<unsigned, 8> const& groups) {
    gap longest;
    std::size_t most = 1;
    for (std::size_t begin = 0; begin < groups.size();) {
        auto end = begin;
        while (end < groups.size() && groups[end] == 0) ++end;
        if (end - begin > most) longest = {begin, end}, most = end - begin;
        begin = end + 1;
    }
    return longest;
}

// One to three digits without a leading zero, at most `most`.
std::optional<unsigned> parse_prefix(std::string_view text, unsigned most) {
    if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
    unsigned value = 0;
    auto const end = text.data() + text.size();
    auto const [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc{} || stop != end || value > most) return std::nullopt;
    return value;
}

}  // namespace

std::optional<address> address::parse(std::string_view text) {
    char terminated[INET6_ADDRSTRLEN];
    if (text.size() >= sizeof terminated || text.find('\0') != text.npos) return std::nullopt;
    terminated[text.copy(terminated, text.size())] = '\0';
    address parsed;
    if (text.find(':') != text.npos) {
        if (::inet_pton(AF_INET6, terminated, parsed.bytes.data()) != 1) return std::nullopt;
        return parsed;
    }
    std::ranges::copy(v4_prefix, parsed.bytes.begin());
    if (::inet_pton(AF_INET, terminated, parsed.bytes.data() + v4_prefix.size()) != 1)
        return std::nullopt;
    return parsed;
}

bool address::is_v4() const {
    return std::equal(v4_prefix.begin(), v4_prefix.end(), bytes.begin());
}

bool address::is_loopback() const {
    if (is_v4()) return bytes[12] == 127;
    return bytes == std::array<std::uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
}

void address::put(base::text_writer& to) const {
    if (is_v4()) {
        char text[4 * sizeof octet::text];
        std::size_t size = 0;
        for (std::size_t i = 12; i < 16; ++i) {
            std::memcpy(text + size, octets[bytes[i]].text, sizeof octet::text);
            size += octets[bytes[i]].size;
        }
        to.put({text, size - 1});
        return;
    }
    std::array<unsigned, 8> groups;
    for (std::size_t i = 0; i < groups.size(); ++i)
        groups[i] = static_cast<unsigned>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
    auto const gap = longest_gap(groups);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (i == gap.begin) {
            to.put("::");
            i = gap.end - 1;
            continue;
        }
        if (i != 0 && i != gap.end) to.put(':');
        to.number(groups[i], 16);
    }
}

std::string address::text() const {
    char printed[text_bytes_max];
    base::text_writer writer(printed, sizeof printed);
    put(writer);
    return {printed, writer.at()};
}

std::optional<cidr> cidr::parse(std::string_view text) {
    auto const slash = text.find('/');
    auto const network = address::parse(text.substr(0, slash));
    if (!network) return std::nullopt;
    if (slash == text.npos) return cidr{*network, 128};
    // What counts is how it was written: ::ffff:10.0.0.0 takes a prefix of 128.
    auto const dotted = text.substr(0, slash).find(':') == text.npos;
    auto const prefix = parse_prefix(text.substr(slash + 1), dotted ? 32 : 128);
    if (!prefix) return std::nullopt;
    auto const bits = *prefix + (dotted ? 96 : 0);
    if (has_host_bits(*network, bits)) return std::nullopt;
    return cidr{*network, static_cast<std::uint8_t>(bits)};
}

bool cidr::contains(address const& who) const {
    return same_prefix(network, who, prefix);
}

bool cidr::contains(cidr const& other) const {
    return prefix <= other.prefix && contains(other.network);
}

std::string cidr::text() const {
    // With an IPv4 network the prefix is at least 96, since its host bits are zero.
    auto const shown = network.is_v4() ? prefix - 96 : prefix;
    return network.text() + "/" + std::to_string(shown);
}

}  // namespace latchkey::model
