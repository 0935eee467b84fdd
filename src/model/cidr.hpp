// Client addresses and networks (RFC 4632, RFC 4291). IPv4 is kept as ::ffff:a.b.c.d, so one
// compare serves both; an IPv4-mapped IPv6 peer is the IPv4 one. Values, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace latchkey::model {

struct address {
    std::array<std::uint8_t, 16> bytes{};

    // A dotted quad or RFC 4291 text; no zone.
    static std::optional<address> parse(std::string_view text);
    bool is_v4() const;
    bool is_loopback() const;  // 127.0.0.0/8, ::1
    // As RFC 5952 §4 wants it, at most text_bytes_max; neither allocates beyond the string.
    static constexpr std::size_t text_bytes_max = 39;
    void put(base::text_writer& to) const;
    std::string text() const;
    bool operator==(address const&) const = default;
};

struct cidr {
    address network;          // host bits are zero
    std::uint8_t prefix = 0;  // of 128; an IPv4 /24 is 120

    // "10.0.0.0/8", "2001:db8::/32", or an address alone (/32, /128). Host bits must be zero.
    static std::optional<cidr> parse(std::string_view text);
    bool contains(address const& who) const;
    bool contains(cidr const& other) const;
    std::string text() const;  // IPv4 prefixes as of 32
    bool operator==(cidr const&) const = default;
};

}  // namespace latchkey::model
