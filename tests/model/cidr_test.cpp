#include "model/cidr.hpp"

#include <gtest/gtest.h>

namespace latchkey::model {
namespace {

bool contains(std::string_view network, std::string_view client) {
    auto const parsed_network = cidr::parse(network);
    auto const parsed_client = address::parse(client);
    EXPECT_TRUE(parsed_network) << network;
    EXPECT_TRUE(parsed_client) << client;
    return parsed_network && parsed_client && parsed_network->contains(*parsed_client);
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
    // Sharing one address does not make the wider network part of the narrower one.
    EXPECT_FALSE(wide.contains(*cidr::parse("10.0.0.0/7")));
    EXPECT_FALSE(wide.contains(*cidr::parse("8.0.0.0/7")));
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

TEST(networks, refuse_invalid_text) {
    for (auto const* bad :
         {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.0/8/8",
          "10.0.0.0/+8", "10.0.0.0/8 ", "10.0.0.1/8", "2001:db8::1/32", "::/129", "::/1000",
          "10.0.0.0/255.0.0.0", "::ffff:10.0.0.0/8"})
        EXPECT_FALSE(cidr::parse(bad)) << bad;
}

TEST(networks, refuse_a_bit_right_after_their_prefix) {
    for (unsigned prefix = 0; prefix < 128; ++prefix) {
        address network;
        network.bytes[prefix / 8] = static_cast<std::uint8_t>(0x80u >> prefix % 8);
        if (network.is_v4()) continue;
        auto const text = network.text();
        EXPECT_FALSE(cidr::parse(text + "/" + std::to_string(prefix))) << text;
        EXPECT_TRUE(cidr::parse(text + "/" + std::to_string(prefix + 1))) << text;
    }
}

}  // namespace
}  // namespace latchkey::model
