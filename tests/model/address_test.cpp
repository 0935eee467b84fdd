#include "model/address.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <random>

namespace latchkey::model {
namespace {

TEST(addresses, are_read_and_written) {
    struct pair {
        char const *input, *output;
    };
    for (auto const [input, output] :
         {pair{"127.0.0.1", "127.0.0.1"}, pair{"::1", "::1"}, pair{"::", "::"},
          pair{"2001:DB8:0:0::1", "2001:db8::1"}, pair{"::ffff:10.1.2.3", "10.1.2.3"},
          pair{"::ffff:0a01:0203", "10.1.2.3"}, pair{"255.255.255.255", "255.255.255.255"}}) {
        auto const parsed = address::parse(input);
        ASSERT_TRUE(parsed) << input;
        EXPECT_EQ(parsed->text(), output);
    }
    EXPECT_EQ(address::parse("::ffff:10.1.2.3"), address::parse("10.1.2.3"));
    EXPECT_TRUE(address::parse("10.1.2.3")->is_v4());
    EXPECT_FALSE(address::parse("::a01:203")->is_v4());
}

// RFC 5952 §4.2: the longest run of zero groups, the first of equal ones, never a single group.
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
        address random_address;
        auto const zeros = random();  // a random half of the groups is zero
        for (std::size_t index = 0; index < random_address.bytes.size(); ++index)
            random_address.bytes[index] =
                (zeros >> (index / 2) & 1) != 0 ? 0 : static_cast<std::uint8_t>(random() >> 56);
        char expected[INET6_ADDRSTRLEN];
        ASSERT_NE(::inet_ntop(AF_INET6, random_address.bytes.data(), expected, sizeof expected),
                  nullptr);
        ASSERT_EQ(address::parse(random_address.text()), random_address);
        // glibc writes IPv4-compatible addresses as dotted quads too, which RFC 4291 deprecates.
        if (random_address.is_v4() ||
            std::string_view(expected).find('.') != std::string_view::npos)
            continue;
        ASSERT_EQ(random_address.text(), expected);
        ++compared;
    }
    EXPECT_GT(compared, 19'000);
}

TEST(addresses, refuse_invalid_text) {
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

}  // namespace
}  // namespace latchkey::model
