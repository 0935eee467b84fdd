#include "server/net/proxy_header.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace latchkey::server {
namespace {

using namespace std::string_literals;
using progress = proxy_header::progress;

std::string const signature = "\r\n\r\n\0\r\nQUIT\n"s;
std::string const tcp4 = "\xc6\x33\x64\x09\x0a\x00\x00\x01\x12\x34\x01\xbb"s;  // 198.51.100.9
std::string const tcp6 =
    "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07"s + std::string(16, '\x02') + "\x12\x34\x01\xbb"s;
std::string const mapped = std::string(10, '\0') + "\xff\xff\xc6\x33\x64\x09"s +
                           std::string(16, '\x02') + "\x12\x34\x01\xbb"s;
std::string const paths(216, '/');

std::string header(unsigned command, unsigned family, std::string const& rest, std::size_t length) {
    auto bytes = signature;
    bytes += static_cast<char>(command);
    bytes += static_cast<char>(family);
    bytes += static_cast<char>(length >> 8);
    bytes += static_cast<char>(length & 255);
    return bytes + rest;
}
std::string header(unsigned command, unsigned family, std::string const& rest) {
    return header(command, family, rest, rest.size());
}

std::string describe(proxy_header const& parsed) {
    if (parsed.state == progress::incomplete) return "incomplete";
    if (parsed.state == progress::malformed) return "malformed";
    auto const client = !parsed.relayed ? "the proxy's"
                        : parsed.client ? parsed.client->text()
                                        : "unknown";
    return std::to_string(parsed.size) + " " + client;
}

struct row {
    std::string bytes;
    std::string outcome;
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
    // With TLVs after the addresses, up to the limit.
    {header(0x21, 0x11, tcp4 + "\x03\0\x04\x01\x02\x03\x04"s), "35 198.51.100.9"},
    {header(0x21, 0x11, tcp4 + "not what it should be"), "49 198.51.100.9"},
    {header(0x21, 0x11, tcp4 + std::string(508, 'x')), "536 198.51.100.9"},
    {header(0x21, 0x11, tcp4 + std::string(4068, 'x')), "4096 198.51.100.9"},
    // LOCAL, the proxy's own connection; the rest of the header is ignored.
    {header(0x20, 0x00, ""), "16 the proxy's"},
    {header(0x20, 0x11, tcp4), "28 the proxy's"},
    {header(0x20, 0x11, ""), "16 the proxy's"},
    {header(0x20, 0xff, "abc"), "19 the proxy's"},
    // Another version or command, an undefined family or transport.
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
    // Too short for its addresses, or longer than the limit.
    {header(0x21, 0x11, tcp4.substr(1)), "malformed"},
    {header(0x21, 0x11, ""), "malformed"},
    {header(0x21, 0x21, tcp6.substr(1)), "malformed"},
    {header(0x21, 0x21, tcp4), "malformed"},
    {header(0x21, 0x31, paths.substr(1)), "malformed"},
    {header(0x21, 0x11, tcp4 + std::string(4069, 'x')), "malformed"},
    {header(0x20, 0x00, "", 4081), "malformed"},
    {header(0x20, 0x00, "", 0xffff), "malformed"},
    // No version 2 header at all.
    {"PROXY TCP4 198.51.100.9 10.0.0.1 4660 443\r\n", "malformed"},
    {"PROXY UNKNOWN\r\n", "malformed"},
    {"GET / HTTP/1.1\r\n\r\n", "malformed"},
    {"\x16\x03\x01\x02"s, "malformed"},
    {"\r\n\r\nGET", "malformed"},
    {"\r\n\r\n\0\r\nQUIT\r\n"s, "malformed"},
    {std::string(1, '\0'), "malformed"},
};

TEST(proxy_header, names_the_client) {
    for (auto const& row : rows) {
        EXPECT_EQ(describe(read_proxy_header(row.bytes)), row.outcome)
            << row.outcome << ": " << row.bytes;
        EXPECT_EQ(describe(read_proxy_header(row.bytes + "GET / HTTP/1.1")), row.outcome)
            << row.bytes;
    }
    EXPECT_EQ(describe(read_proxy_header("")), "incomplete");
}

// Every prefix is `incomplete` until it has the result of the whole, and longer prefixes keep it;
// nothing beyond the prefix is read (AddressSanitizer).
TEST(proxy_header, has_the_same_result_however_it_is_split) {
    for (auto const& row : rows) {
        bool decided = false;
        for (std::size_t cut = 0; cut <= row.bytes.size(); ++cut) {
            std::vector<char> const part(row.bytes.begin(),
                                         row.bytes.begin() + static_cast<std::ptrdiff_t>(cut));
            auto const outcome = describe(read_proxy_header({part.data(), part.size()}));
            if (!decided && outcome == "incomplete") continue;
            decided = true;
            EXPECT_EQ(outcome, row.outcome) << cut << ": " << row.bytes;
        }
        EXPECT_TRUE(decided) << row.bytes;
    }
}

TEST(proxy_header, is_complete_with_its_last_byte_and_not_before) {
    for (auto const& row : rows) {
        if (row.outcome == "malformed") continue;
        auto const all_but_one = row.bytes.substr(0, row.bytes.size() - 1);
        EXPECT_EQ(describe(read_proxy_header(all_but_one)), "incomplete") << row.outcome;
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
        {header(0x20, 0x00, "", 0x1000), 15},
        {header(0x20, 0x00, "", 0x0ff1), 16},
        {header(0x21, 0x11, tcp4.substr(1)), 16},
    };
    for (auto const& each : wrong) {
        EXPECT_EQ(describe(read_proxy_header(each.bytes.substr(0, each.needs - 1))), "incomplete");
        EXPECT_EQ(describe(read_proxy_header(each.bytes.substr(0, each.needs))), "malformed");
    }
}

// With as many bytes as the limit every header is decided.
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
        ASSERT_NE(whole.state, progress::incomplete);
        std::size_t const cut = random() % bytes.size();
        auto const part = read_proxy_header(std::string_view(bytes).substr(0, cut));
        if (part.state != progress::incomplete) ASSERT_EQ(describe(part), describe(whole));
        if (whole.state != progress::complete) continue;
        ++complete;
        ASSERT_LE(whole.size, proxy_header::bytes_max);
        ASSERT_EQ(part.state == progress::complete, cut >= whole.size);
    }
    EXPECT_GT(complete, 1000u);
}

}  // namespace
}  // namespace latchkey::server
