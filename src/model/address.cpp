#include "model/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace latchkey::model {
namespace {

constexpr std::array<std::uint8_t, 12> v4_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// "255." with its length: each octet of a dotted quad, formatted at compile time.
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

// The groups that "::" replaces: the longest run of zero groups, the first of equal ones, never a
// single group (RFC 5952 §4.2). None: both 0xff.
struct gap {
    std::size_t begin = 0xff, end = 0xff;
};
gap longest_gap(std::array<unsigned, 8> const& groups) {
    gap longest;
    std::size_t longest_size = 1;
    for (std::size_t begin = 0; begin < groups.size();) {
        auto end = begin;
        while (end < groups.size() && groups[end] == 0) ++end;
        if (end - begin > longest_size) {
            longest = {begin, end};
            longest_size = end - begin;
        }
        begin = end + 1;
    }
    return longest;
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

void address::put(base::text_writer& output) const {
    if (is_v4()) {
        char text[4 * sizeof octet::text];
        std::size_t size = 0;
        for (std::size_t i = 12; i < 16; ++i) {
            std::memcpy(text + size, octets[bytes[i]].text, sizeof octet::text);
            size += octets[bytes[i]].size;
        }
        output.put({text, size - 1});
        return;
    }
    std::array<unsigned, 8> groups;
    for (std::size_t i = 0; i < groups.size(); ++i)
        groups[i] = static_cast<unsigned>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
    auto const gap = longest_gap(groups);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (i == gap.begin) {
            output.put("::");
            i = gap.end - 1;
            continue;
        }
        if (i != 0 && i != gap.end) output.put(':');
        output.number(groups[i], 16);
    }
}

std::string address::text() const {
    char text[text_bytes_max];
    base::text_writer output(text, sizeof text);
    put(output);
    return {text, output.position()};
}

}  // namespace latchkey::model
