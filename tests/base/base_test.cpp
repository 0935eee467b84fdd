#include <gtest/gtest.h>

#include <set>

#include "base/base62.hpp"
#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/problem.hpp"

namespace latchkey::base {
namespace {

std::string timestamp(wall_ms time) {
    std::string text(timestamp_bytes, ' ');
    format_timestamp(time, text.data());
    return text;
}

TEST(timestamps, are_rfc_3339_with_milliseconds) {
    EXPECT_EQ(timestamp(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(timestamp(951'868'799'999), "2000-02-29T23:59:59.999Z");
    EXPECT_EQ(timestamp(-1), "1969-12-31T23:59:59.999Z");
    EXPECT_EQ(timestamp(253'402'300'800'000), "9999-12-31T23:59:59.999Z");
    EXPECT_EQ(timestamp(1'772'000'000'123), "2026-02-25T06:13:20.123Z");
}

TEST(timestamps, are_read_back) {
    for (wall_ms const time :
         {wall_ms{0}, wall_ms{951'868'799'999}, wall_ms{1'772'000'000'123}, wall_ms{-1}})
        EXPECT_EQ(parse_timestamp(timestamp(time)), time);
    EXPECT_EQ(parse_timestamp("2000-01-01T01:00:00+01:00"),
              parse_timestamp("2000-01-01T00:00:00Z"));
    EXPECT_EQ(parse_timestamp("2000-01-01t00:00:00.98765z"), 946'684'800'987);
    for (auto const* bad : {"", "2000-01-01", "2000-13-01T00:00:00Z", "2000-02-30T00:00:00Z",
                            "2000-01-01T24:00:00Z", "2000-01-01T00:00:00", "2000-01-01T00:00:00.Z",
                            "2000-01-01T00:00:00Z ", "2000-01-01 00:00:00Z"})
        EXPECT_FALSE(parse_timestamp(bad)) << bad;
}

// The last ones are remembered, and many share a place.
TEST(timestamps, are_right_in_whatever_order_they_are_asked_for) {
    constexpr wall_ms day = 86'400'000, noon = day / 2;
    for (int round = 0; round < 3; ++round)
        for (wall_ms number = 0; number < 4'000; ++number) {
            wall_ms const time = (number * 1'597 % 4'001 - 2'000) * day + noon + number;
            ASSERT_EQ(parse_timestamp(timestamp(time)), time);
            ASSERT_EQ(parse_timestamp(timestamp(time + 16 * day)), time + 16 * day);
            ASSERT_EQ(parse_timestamp(timestamp(time)), time);
        }
    for (int year = 0; year < 10'000; ++year)
        for (char const* rest : {"-01-01T00:00:00.000Z", "-12-31T23:59:59.999Z"}) {
            auto const text = std::to_string(10'000 + year).substr(1) + rest;
            ASSERT_EQ(timestamp(parse_timestamp(text).value()), text);
        }
}

TEST(http_dates, are_imf_fixdate) {
    std::string text(http_date_bytes, ' ');
    format_http_date(784'111'777'000, text.data());
    EXPECT_EQ(text, "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(durations, take_a_unit) {
    EXPECT_EQ(parse_duration("90d"), 90 * 86'400);
    EXPECT_EQ(parse_duration("24h"), 86'400);
    EXPECT_EQ(parse_duration("15m"), 900);
    EXPECT_EQ(parse_duration("30"), 30);
    for (auto const* bad :
         {"", "d", "-1d", "1w", "1 d", "99999999999999999999d", "9223372036854775807d"})
        EXPECT_FALSE(parse_duration(bad)) << bad;
}

TEST(clocks, do_not_go_back) {
    auto const first = read_clocks();
    auto const second = read_clocks();
    EXPECT_LE(first.mono, second.mono);
    EXPECT_LE(first.wall, second.wall);
}

TEST(big_endian, sorts_like_the_numbers) {
    std::string small, large;
    append<std::int64_t>(small, 255);
    append<std::int64_t>(large, 256);
    EXPECT_LT(small, large);
    EXPECT_EQ(get<std::int64_t>(large.data()), 256);
}

TEST(reader, says_when_bytes_are_missing) {
    std::string bytes;
    append_text(bytes, "abc");
    reader whole(bytes);
    EXPECT_EQ(whole.text(), "abc");
    EXPECT_TRUE(whole.done());
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
        reader part(std::string_view(bytes).substr(0, cut));
        part.text();
        EXPECT_FALSE(part.ok()) << cut;
    }
}

TEST(hexadecimal, goes_both_ways) {
    EXPECT_EQ(to_hex("\x01\xff"), "01ff");
    char bytes[2];
    EXPECT_TRUE(from_hex("01Ff", bytes, 2));
    EXPECT_EQ(std::string_view(bytes, 2), "\x01\xff");
    EXPECT_FALSE(from_hex("01f", bytes, 2));
    EXPECT_FALSE(from_hex("01fg", bytes, 2));
}

TEST(comparison_in_constant_time, compares) {
    EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
    EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
    EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
}

TEST(crc32, is_that_of_zlib) {
    struct {
        std::string text;
        std::uint32_t sum;  // of zlib's crc32()
    } const rows[] = {
        {"", 0},
        {"a", 0xe8b7be43},
        {"abc", 0x352441c2},
        {"message digest", 0x20159d7f},
        {"123456789", 0xcbf43926},
        {"abcdefghijklmnopqrstuvwxyz", 0x4c2750bd},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 0x1fc2e6d2},
        {std::string(32, '\0'), 0x190a55ad},
        {std::string(32, '\xff'), 0xff6cab0b},
    };
    for (auto const& row : rows) EXPECT_EQ(crc32(row.text), row.sum) << row.text;
}

// One bit at a time, as IEEE 802.3 has it, over every length and every alignment.
TEST(crc32, is_its_definition) {
    std::string bytes;
    for (unsigned i = 0; i < 80; ++i) bytes += static_cast<char>(i * 151 + 7);
    for (std::size_t from = 0; from < 8; ++from)
        for (std::size_t size = 0; from + size <= bytes.size(); ++size) {
            auto const part = std::string_view(bytes).substr(from, size);
            std::uint32_t sum = ~0u;
            for (unsigned char const byte : part) {
                sum ^= byte;
                for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0u);
            }
            EXPECT_EQ(crc32(part), ~sum) << from << " " << size;
        }
}

TEST(base62, is_written_with_leading_zeros) {
    char text[6];
    put_base62(61 + 62, text, sizeof text);
    EXPECT_EQ(std::string_view(text, 6), "00001z");
}

TEST(base62, is_written_as_a_fraction) {
    char text[11];
    put_base62_fraction(0, text, sizeof text);
    EXPECT_EQ(std::string_view(text, 11), "00000000000");
    put_base62_fraction(~0ull, text, sizeof text);
    EXPECT_EQ(std::string_view(text, 10), "zzzzzzzzzz");
    put_base62_fraction(1ull << 63, text, 2);
    EXPECT_EQ(std::string_view(text, 2), "V0");
    char next[11];
    put_base62_fraction((1ull << 63) + 1, text, sizeof text);
    put_base62_fraction((1ull << 63) + 2, next, sizeof next);
    EXPECT_NE(std::string_view(text, 11), std::string_view(next, 11));
}

TEST(base62, rejects_the_bytes_that_would_bend_the_distribution) {
    char text[4];
    EXPECT_EQ(random_base62("\xf8\xff", text, 4), 0u);
    EXPECT_EQ(random_base62(std::string_view("\xf7\x3e\x01", 3), text, 4), 3u);
    EXPECT_EQ(std::string_view(text, 3), "z01");
}

TEST(problems, are_all_described_in_order) {
    std::set<std::string_view> names;
    for (std::size_t i = 1; i < problems.size(); ++i) {
        EXPECT_EQ(static_cast<std::size_t>(problems[i].code), i);
        EXPECT_GE(problems[i].status, 400);
        EXPECT_FALSE(problems[i].title.empty());
        EXPECT_TRUE(names.insert(problems[i].name).second) << problems[i].name;
    }
    EXPECT_EQ(names.size(), 45u);
}

}  // namespace
}  // namespace latchkey::base
