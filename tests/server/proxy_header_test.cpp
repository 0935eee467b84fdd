#include "server/proxy_header.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace latchkey::server {
namespace {

using namespace std::string_literals;
using state = enum proxy_header::state;

std::string const signature = "\r\n\r\n\0\r\nQUIT\n"s;
std::string const tcp4 = "\xc6\x33\x64\x09\x0a\x00\x00\x01\x12\x34\x01\xbb"s;  // 198.51.100.9
std::string const tcp6 =
    "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07"s + std::string(16, '\x02') + "\x12\x34\x01\xbb"s;
std::string const mapped = std::string(10, '\0') + "\xff\xff\xc6\x33\x64\x09"s +
                           std::string(16, '\x02') + "\x12\x34\x01\xbb"s;
std::string const paths(216, '/');

std::string header(unsigned command, unsigned family, std::string const& rest, std::size_t length) {
    auto made = signature;
    made += static_cast<char>(command);
    made += static_cast<char>(family);
    made += static_cast<char>(length >> 8);
    made += static_cast<char>(length & 255);
    return made + rest;
}
std::string header(unsigned command, unsigned family, std::string const& rest) {
    return header(command, family, rest, rest.size());
}

std::string tell(proxy_header const& seen) {
    if (seen.state == state::incomplete) return "incomplete";
    if (seen.state == state::malformed) return "malformed";
    auto const whose = !seen.relayed ? "the proxy's"
                       : seen.client ? seen.client->text()
                                     : "unknown";
    return std::to_string(seen.size) + " " + whose;
}

struct row {
    std::string bytes;
    std::string told;
};

std::vector<row> const rows = {
    {header(0x21, 0x11, tcp4), "28 198.51.100.9"},
    {header(0x21, 0x12, tcp4), "28 198.51.100.9"},
    {header(0x21, 0x21, tcp6), "52 2001:db8::7"},
    {header(0x21, 0x22, tcp6), "52 2001:db8::7"},
    {header(0x21, 0x21, mapped), "52 198.51.100.9"},
    {header(0x21, 0x31, paths), "232 unknown"},
    {header(0x21, 0x32, paths), "232 unknown"},
    {header(0x21, 0x00, ""), "16 unknown"},
    {header(0x21, 0x00, tcp4), "28 unknown"},
    // With values behind the addresses, up to the bound.
    {header(0x21, 0x11, tcp4 + "\x03\0\x04\x01\x02\x03\x04"s), "35 198.51.100.9"},
    {header(0x21, 0x11, tcp4 + "not what it should be"), "49 198.51.100.9"},
    {header(0x21, 0x11, tcp4 + std::string(500, 'x')), "528 198.51.100.9"},
    // The proxy's own connection; whatever else the header says does not count.
    {header(0x20, 0x00, ""), "16 the proxy's"},
    {header(0x20, 0x11, tcp4), "28 the proxy's"},
    {header(0x20, 0x11, ""), "16 the proxy's"},
    {header(0x20, 0xff, "abc"), "19 the proxy's"},
    // Another version or command, a family or transport that does not exist.
    {header(0x11, 0x11, tcp4), "malformed"},
    {header(0x01, 0x11, tcp4), "malformed"},
    {header(0x31, 0x11, tcp4), "malformed"},
    {header(0x22, 0x11, tcp4), "malformed"},
    {header(0x2f, 0x11, tcp4), "malformed"},
    {header(0x21, 0x01, tcp4), "malformed"},
    {header(0x21, 0x10, tcp4), "malformed"},
    {header(0x21, 0x13, tcp4), "malformed"},
    {header(0x21, 0x41, paths), "malformed"},
    {header(0x21, 0xff, paths), "malformed"},
    // Too short for its addresses, too long for us.
    {header(0x21, 0x11, tcp4.substr(1)), "malformed"},
    {header(0x21, 0x11, ""), "malformed"},
    {header(0x21, 0x21, tcp6.substr(1)), "malformed"},
    {header(0x21, 0x21, tcp4), "malformed"},
    {header(0x21, 0x31, paths.substr(1)), "malformed"},
    {header(0x21, 0x11, tcp4 + std::string(501, 'x')), "malformed"},
    {header(0x20, 0x00, "", 513), "malformed"},
    {header(0x20, 0x00, "", 0xffff), "malformed"},
    // No such header at all.
    {"PROXY TCP4 198.51.100.9 10.0.0.1 4660 443\r\n", "malformed"},
    {"PROXY UNKNOWN\r\n", "malformed"},
    {"GET / HTTP/1.1\r\n\r\n", "malformed"},
    {"\x16\x03\x01\x02"s, "malformed"},
    {"\r\n\r\nGET", "malformed"},
    {"\r\n\r\n\0\r\nQUIT\r\n"s, "malformed"},
    {std::string(1, '\0'), "malformed"},
};

TEST(proxy_header, tells_who_the_client_is) {
    for (auto const& row : rows) {
        EXPECT_EQ(tell(read_proxy_header(row.bytes)), row.told) << row.told << ": " << row.bytes;
        EXPECT_EQ(tell(read_proxy_header(row.bytes + "GET / HTTP/1.1")), row.told) << row.bytes;
    }
    EXPECT_EQ(tell(read_proxy_header("")), "incomplete");
}

// Every cut shows `incomplete` until it shows what the whole does, and then stays with it; memory
// beyond the cut is not looked at (AddressSanitizer).
TEST(proxy_header, comes_out_the_same_however_it_is_cut) {
    for (auto const& row : rows) {
        bool decided = false;
        for (std::size_t cut = 0; cut <= row.bytes.size(); ++cut) {
            std::vector<char> const part(row.bytes.begin(),
                                         row.bytes.begin() + static_cast<std::ptrdiff_t>(cut));
            auto const told = tell(read_proxy_header({part.data(), part.size()}));
            if (!decided && told == "incomplete") continue;
            decided = true;
            EXPECT_EQ(told, row.told) << cut << ": " << row.bytes;
        }
        EXPECT_TRUE(decided) << row.bytes;
    }
}

TEST(proxy_header, is_complete_with_its_last_byte_and_not_before) {
    for (auto const& row : rows) {
        if (row.told == "malformed") continue;
        auto const all_but_one = row.bytes.substr(0, row.bytes.size() - 1);
        EXPECT_EQ(tell(read_proxy_header(all_but_one)), "incomplete") << row.told;
    }
}

TEST(proxy_header, is_refused_as_soon_as_the_byte_is_there) {
    struct {
        std::string bytes;
        std::size_t needs;
    } const wrong[] = {
        {"PROXY TCP4", 1},
        {"\r\nGET", 3},
        {header(0x11, 0x11, tcp4), 13},
        {header(0x21, 0x13, tcp4), 14},
        {header(0x20, 0x00, "", 0x0300), 15},
        {header(0x20, 0x00, "", 0x0201), 16},
        {header(0x21, 0x11, tcp4.substr(1)), 16},
    };
    for (auto const& each : wrong) {
        EXPECT_EQ(tell(read_proxy_header(each.bytes.substr(0, each.needs - 1))), "incomplete");
        EXPECT_EQ(tell(read_proxy_header(each.bytes.substr(0, each.needs))), "malformed");
    }
}

// Never more than the bound is waited for: with that many bytes everything is decided.
TEST(proxy_header, decides_within_its_bound_whatever_comes) {
    std::mt19937 random(20261121);
    unsigned complete = 0;
    for (int i = 0; i < 200'000; ++i) {
        auto bytes = random() % 4 == 0 ? ""s : signature;
        while (bytes.size() < proxy_header::bytes_max) bytes += static_cast<char>(random());
        if (random() % 2 == 0) bytes[12] = static_cast<char>(0x20 + random() % 2);
        if (random() % 2 == 0) bytes[13] = static_cast<char>((random() % 5) << 4 | random() % 4);
        if (random() % 2 == 0) bytes[14] = static_cast<char>(random() % 4);
        auto const whole = read_proxy_header(bytes);
        ASSERT_NE(whole.state, state::incomplete);
        std::size_t const cut = random() % bytes.size();
        auto const part = read_proxy_header(std::string_view(bytes).substr(0, cut));
        if (part.state != state::incomplete) ASSERT_EQ(tell(part), tell(whole));
        if (whole.state != state::complete) continue;
        ++complete;
        ASSERT_LE(whole.size, proxy_header::bytes_max);
        ASSERT_EQ(part.state == state::complete, cut >= whole.size);
    }
    EXPECT_GT(complete, 1000u);
}

}  // namespace
}  // namespace latchkey::server
