// Addresses as proxies write them into X-Forwarded-For. Pure; any thread.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/address.hpp"

namespace latchkey::api {

// "198.51.100.7", "198.51.100.7:4711", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:443", each in
// quotes or not (RFC 7239 §6).
inline std::optional<model::address> parse_node(std::string_view text) {
    if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"'))
        text = text.substr(1, text.size() - 2);
    auto const colon = text.find(':');
    auto port = text.substr(text.size());
    if (text.starts_with('[')) {
        auto const end = text.find(']');
        if (end == text.npos || colon > end) return std::nullopt;  // what is inside is IPv6
        port = text.substr(end + 1);
        text = text.substr(1, end - 1);
    } else if (colon != text.npos && colon == text.rfind(':')) {
        port = text.substr(colon);
        text = text.substr(0, colon);
    }
    std::uint16_t number = 0;
    auto const* const end = port.data() + port.size();
    bool const is_port =
        port.size() >= 2 && port.size() <= 6 && port[0] == ':' &&
        std::from_chars(port.data() + 1, end, number) == std::from_chars_result{end, std::errc()};
    return port.empty() || is_port ? model::address::parse(text) : std::nullopt;
}

}  // namespace latchkey::api
