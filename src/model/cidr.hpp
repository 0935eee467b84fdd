// Networks in CIDR notation (RFC 4632). Values, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/address.hpp"

namespace latchkey::model {

struct cidr {
    address network;          // host bits are zero
    std::uint8_t prefix = 0;  // of 128 bits; an IPv4 /24 is 120

    // "10.0.0.0/8", "2001:db8::/32", or an address alone (/32, /128). Host bits must be zero.
    static std::optional<cidr> parse(std::string_view text);
    bool contains(address const& client) const;
    bool contains(cidr const& other) const;
    std::string text() const;  // IPv4 prefix lengths of 32 bits
    bool operator==(cidr const&) const = default;
};

}  // namespace latchkey::model
