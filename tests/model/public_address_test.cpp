#include "model/public_address.hpp"

#include <gtest/gtest.h>

#include <array>

namespace latchkey::model {
namespace {

address parse(std::string_view text) {
    auto const parsed = address::parse(text);
    EXPECT_TRUE(parsed) << text;
    return parsed.value_or(address{});
}

TEST(public_addresses, are_not_those_of_special_networks) {
    for (auto const* text : {"0.0.0.0",
                             "0.1.2.3",
                             "10.0.0.0",
                             "10.0.0.5",
                             "10.255.255.255",
                             "100.64.0.0",
                             "100.100.100.200",
                             "100.127.255.255",
                             "127.0.0.1",
                             "127.255.255.255",
                             "168.63.129.16",
                             "169.254.0.1",
                             "169.254.169.254",
                             "169.254.170.2",
                             "172.16.0.0",
                             "172.31.255.255",
                             "192.0.0.1",
                             "192.0.0.192",
                             "192.0.2.1",
                             "192.88.99.1",
                             "192.168.0.1",
                             "192.168.255.255",
                             "198.18.0.1",
                             "198.19.255.255",
                             "198.51.100.7",
                             "203.0.113.255",
                             "224.0.0.1",
                             "239.255.255.250",
                             "240.0.0.1",
                             "255.255.255.255",
                             "192.31.196.1",
                             "192.175.48.6",
                             "::",
                             "::1",
                             "::2",
                             "::127.0.0.1",
                             "::8.8.8.8",
                             "::ffff:10.0.0.1",
                             "::ffff:127.0.0.1",
                             "::ffff:0:8.8.8.8",
                             "64:ff9b::8.8.8.8",
                             "64:ff9b::10.0.0.1",
                             "64:ff9b:1::1",
                             "100::1",
                             "100:0:0:1::1",
                             "1fff:ffff::1",
                             "2001::1",
                             "2001:0:4136:e378:8000:63bf:3fff:fdd2",
                             "2001:2::1",
                             "2001:10::1",
                             "2001:20::1",
                             "2001:1ff:ffff::1",
                             "2001:db8::1",
                             "2001:db8:ffff::1",
                             "2002::1",
                             "2002:7f00:1::1",
                             "2002:808:808::1",
                             "2620:4f:8000::1",
                             "3ffe::1",
                             "3fff:fff::1",
                             "4000::1",
                             "5f00::1",
                             "fc00::1",
                             "fd00:ec2::254",
                             "fd20:ce::254",
                             "fdff::1",
                             "fe80::1",
                             "febf::1",
                             "fec0::1",
                             "ff02::1",
                             "ff0e::1",
                             "2a00:1450:4001:800:0:5efe:8.8.8.8",
                             "2a00:1450:4001:800:200:5efe:10.0.0.1"})
        EXPECT_FALSE(is_public(parse(text))) << text;
}

TEST(public_addresses, are_the_others) {
    for (auto const* text : {"1.1.1.1",
                             "8.8.8.8",
                             "9.255.255.255",
                             "11.0.0.0",
                             "100.63.255.255",
                             "100.128.0.0",
                             "126.255.255.255",
                             "128.0.0.1",
                             "168.63.129.15",
                             "168.63.129.17",
                             "169.253.255.255",
                             "169.255.0.0",
                             "172.15.255.255",
                             "172.32.0.0",
                             "192.0.1.0",
                             "192.0.3.0",
                             "192.88.98.255",
                             "192.88.100.0",
                             "192.167.255.255",
                             "192.169.0.0",
                             "198.17.255.255",
                             "198.20.0.0",
                             "198.51.99.255",
                             "198.51.101.0",
                             "203.0.112.255",
                             "203.0.114.0",
                             "223.255.255.255",
                             "::ffff:8.8.8.8",
                             "2001:200::1",
                             "2001:4860:4860::8888",
                             "2001:db7:ffff::1",
                             "2001:db9::1",
                             "2003::1",
                             "2606:4700:4700::1111",
                             "2620:4f:8001::1",
                             "2a00:1450::1",
                             "3ffd::1",
                             "3fff:1000::1",
                             "2a00:1450:4001:800:0:5eff:8.8.8.8"})
        EXPECT_TRUE(is_public(parse(text))) << text;
}

TEST(connections, are_made_to_public_addresses_and_in_clear_text_to_named_networks_only) {
    std::array const allowed{*cidr::parse("10.1.0.0/16"), *cidr::parse("fd00:1::/32")};
    for (bool const encrypted : {true, false}) {
        EXPECT_TRUE(may_connect(parse("10.1.2.3"), encrypted, allowed));
        EXPECT_TRUE(may_connect(parse("fd00:1::5"), encrypted, allowed));
        EXPECT_FALSE(may_connect(parse("10.2.0.1"), encrypted, allowed));
        EXPECT_FALSE(may_connect(parse("fd00:2::5"), encrypted, allowed));
        EXPECT_FALSE(may_connect(parse("10.1.2.3"), encrypted, {}));
    }
    EXPECT_TRUE(may_connect(parse("8.8.8.8"), true, allowed));
    EXPECT_TRUE(may_connect(parse("2a00:1450::1"), true, {}));
    EXPECT_FALSE(may_connect(parse("8.8.8.8"), false, allowed));
}

}  // namespace
}  // namespace latchkey::model
