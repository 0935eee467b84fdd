// Client addresses (RFC 4291). IPv4 is stored as ::ffff:a.b.c.d, so that one comparison serves both
// families; an IPv4-mapped IPv6 peer is the IPv4 one. Values, any thread.
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

    // A dotted quad or RFC 4291 text, without a zone.
    static std::optional<address> parse(std::string_view text);
    bool is_v4() const;
    bool is_loopback() const;  // 127.0.0.0/8, ::1
    // The canonical form of RFC 5952 §4, at most text_bytes_max; `put` does not allocate.
    static constexpr std::size_t text_bytes_max = 39;
    void put(base::text_writer& output) const;
    std::string text() const;
    bool operator==(address const&) const = default;
};

}  // namespace latchkey::model
