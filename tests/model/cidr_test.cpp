#include "model/cidr.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <random>

namespace latchkey::model {
namespace {

bool contains(std::string_view network, std::string_view who) {
    auto const parsed = cidr::parse(network);
    auto const other = address::parse(who);
    EXPECT_TRUE(parsed) << network;
    EXPECT_TRUE(other) << who;
    return parsed && other && parsed->contains(*other);
}

TEST(addresses, are_read_and_written) {
    struct pair {
        char const *in, *out;
    };
    for (auto const [in, out] :
         {pair{"127.0.0.1", "127.0.0.1"}, pair{"::1", "::1"}, pair{"::", "::"},
          pair{"2001:DB8:0:0::1", "2001:db8::1"}, pair{"::ffff:10.1.2.3", "10.1.2.3"},
          pair{"::ffff:0a01:0203", "10.1.2.3"}, pair{"255.255.255.255", "255.255.255.255"}}) {
        auto const parsed = address::parse(in);
        ASSERT_TRUE(parsed) << in;
        EXPECT_EQ(parsed->text(), out);
    }
    EXPECT_EQ(address::parse("::ffff:10.1.2.3"), address::parse("10.1.2.3"));
    EXPECT_TRUE(address::parse("10.1.2.3")->is_v4());
    EXPECT_FALSE(address::parse("::a01:203")->is_v4());
}

// RFC 5952 §4.2: of zero groups the longest run, the first of equals, and never one alone.
TEST(addresses, of_ipv6_are_written_in_the_one_canonical_form) {
    for (auto const* const text : {"2001:db8:0:1:1:1:1:1", "2001:db8::1:0:0:1", "1:0:0:2::3",
                                   "1::2:0:0:3", "::2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "1::",
                                   "0:1:2:3:4:5:6:7", "2001:db8:1111:2222:3333:4444:5555:6666"}) {
        auto const parsed = address::parse(text);
        ASSERT_TRUE(parsed) << text;
        auto const one_group =
            std::string_view(text).starts_with("::2") || std::string_view(text).ends_with("7::");
        if (!one_group) EXPECT_EQ(parsed->text(), text);
        EXPECT_EQ(address::parse(parsed->text()), parsed) << text;
    }
    EXPECT_EQ(address::parse("::2:3:4:5:6:7:8")->text(), "0:2:3:4:5:6:7:8");
    EXPECT_EQ(address::parse("1:2:3:4:5:6:7::")->text(), "1:2:3:4:5:6:7:0");
}

TEST(addresses, are_written_as_the_system_writes_them) {
    std::mt19937_64 random(1);
    int compared = 0;
    for (int i = 0; i < 20'000; ++i) {
        address any;
        auto const zeros = random();  // which groups are zero, half of them
        for (std::size_t at = 0; at < any.bytes.size(); ++at)
            any.bytes[at] =
                (zeros >> (at / 2) & 1) != 0 ? 0 : static_cast<std::uint8_t>(random() >> 56);
        char expected[INET6_ADDRSTRLEN];
        ASSERT_NE(::inet_ntop(AF_INET6, any.bytes.data(), expected, sizeof expected), nullptr);
        ASSERT_EQ(address::parse(any.text()), any);
        // glibc writes a dotted quad for the IPv4-compatible ones too, which RFC 4291 ended.
        if (any.is_v4() || std::string_view(expected).find('.') != std::string_view::npos) continue;
        ASSERT_EQ(any.text(), expected);
        ++compared;
    }
    EXPECT_GT(compared, 19'000);
}

TEST(addresses, refuse_what_is_none) {
    for (auto const* bad :
         {"", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", " 1.2.3.4", "1.2.3.4 ",
          "fe80::1%eth0", "::1::", ":::", "1::2::3", "g::1", "12345::", "[::1]", "localhost",
          "1.2.3.4/8", "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"})
        EXPECT_FALSE(address::parse(bad)) << bad;
    EXPECT_FALSE(address::parse(std::string_view("1.2.3.4\0x", 9)));
}

TEST(addresses, know_loopback) {
    for (auto const* yes : {"127.0.0.1", "127.255.0.3", "::1", "::ffff:127.0.0.1"})
        EXPECT_TRUE(address::parse(yes)->is_loopback()) << yes;
    for (auto const* no : {"128.0.0.1", "126.255.255.255", "::2", "::", "0.0.0.0", "2001:db8::1"})
        EXPECT_FALSE(address::parse(no)->is_loopback()) << no;
}

TEST(networks, contain_their_addresses) {
    EXPECT_TRUE(contains("10.0.0.0/8", "10.255.255.255"));
    EXPECT_FALSE(contains("10.0.0.0/8", "11.0.0.0"));
    EXPECT_TRUE(contains("192.168.4.0/22", "192.168.7.255"));
    EXPECT_FALSE(contains("192.168.4.0/22", "192.168.8.0"));
    EXPECT_TRUE(contains("0.0.0.0/0", "255.1.2.3"));
    EXPECT_FALSE(contains("0.0.0.0/0", "2001:db8::1"));
    EXPECT_TRUE(contains("1.2.3.4", "1.2.3.4"));
    EXPECT_FALSE(contains("1.2.3.4", "1.2.3.5"));
    EXPECT_TRUE(contains("2001:db8::/33", "2001:db8:7fff::1"));
    EXPECT_FALSE(contains("2001:db8::/33", "2001:db8:8000::1"));
    EXPECT_TRUE(contains("::/0", "2001:db8::1"));
    EXPECT_TRUE(contains("10.0.0.0/8", "::ffff:10.1.2.3"));
    EXPECT_TRUE(contains("::ffff:10.0.0.0/104", "10.1.2.3"));
}

TEST(networks, contain_smaller_networks) {
    auto const wide = *cidr::parse("10.0.0.0/8");
    EXPECT_TRUE(wide.contains(*cidr::parse("10.1.0.0/16")));
    EXPECT_TRUE(wide.contains(wide));
    EXPECT_FALSE(cidr::parse("10.1.0.0/16")->contains(wide));
    EXPECT_FALSE(wide.contains(*cidr::parse("11.0.0.0/16")));
    EXPECT_TRUE(cidr::parse("0.0.0.0/0")->contains(wide));
}

TEST(networks, are_written_as_they_are_read) {
    for (auto const* same :
         {"10.0.0.0/8", "0.0.0.0/0", "1.2.3.4/32", "2001:db8::/32", "::/0", "::1/128"})
        EXPECT_EQ(cidr::parse(same)->text(), same);
    EXPECT_EQ(cidr::parse("1.2.3.4")->text(), "1.2.3.4/32");
    EXPECT_EQ(cidr::parse("::1")->text(), "::1/128");
    EXPECT_EQ(cidr::parse("::ffff:0:0/96")->text(), "0.0.0.0/0");
    EXPECT_EQ(cidr::parse("10.0.0.0/24")->prefix, 120);
}

TEST(networks, refuse_what_is_none) {
    for (auto const* bad :
         {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.0/8/8",
          "10.0.0.0/+8", "10.0.0.0/8 ", "10.0.0.1/8", "2001:db8::1/32", "::/129", "::/1000",
          "10.0.0.0/255.0.0.0", "::ffff:10.0.0.0/8"})
        EXPECT_FALSE(cidr::parse(bad)) << bad;
}

}  // namespace
}  // namespace latchkey::model
