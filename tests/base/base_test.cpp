#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <thread>

#include "base/ascii.hpp"
#include "base/base62.hpp"
#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/decimal.hpp"
#include "base/keyed_hash.hpp"
#include "base/problem.hpp"
#include "base/search_text.hpp"
#include "base/system/descriptor.hpp"
#include "base/system/read_within.hpp"
#include "base/variant.hpp"
#include "base/visible.hpp"

namespace latchkey::base {
namespace {

std::string timestamp(wall_ms time) {
    std::string text(timestamp_bytes, ' ');
    format_timestamp(time, text.data());
    return text;
}

template <typename Number>
void expect_digits(Number value) {
    char text[number_bytes_max], expected[number_bytes_max];
    std::string_view const digits(text, put_decimal(text, value));
    ASSERT_EQ(digits,
              std::string_view(expected, std::to_chars(expected, std::end(expected), value).ptr));
}

// All values of 32 bits and 300 million others were compared once; these are where it would break.
TEST(variants, become_an_alternative_by_its_index) {
    std::variant<int, std::string, char> value(7);
    EXPECT_TRUE(emplace_alternative(value, 1));
    EXPECT_EQ(std::get<std::string>(value), "");
    EXPECT_FALSE(emplace_alternative(value, 3));
    EXPECT_EQ(value.index(), 1u);
    EXPECT_TRUE(emplace_alternative(value, 0));
    EXPECT_EQ(std::get<int>(value), 0);
}

// A start must end, whatever the files are that it reads.
TEST(descriptors, wait_for_pipes_no_longer_than_said) {
    auto const path = ::testing::TempDir() + "pipe-" + std::to_string(::getpid());
    std::array<char, 8> bytes{};
    auto const read = [&](mono_ns patience) {
        auto const file = open_to_read(path);
        auto const size = read_within(file, path, bytes, patience);
        return size ? std::string(bytes.data(), *size) : size.error().message;
    };
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    auto const late = path + " is a pipe that nobody has written to its end in time";
    EXPECT_EQ(read(1), late);
    {
        descriptor const writer = open_file(path, O_RDWR);
        ASSERT_EQ(::write(writer.get(), "abc", 3), 3);
        EXPECT_EQ(read(1), late) << "more may come";
    }
    std::thread writer([&] {
        descriptor const file = open_file(path, O_WRONLY);  // waits for the reader
        EXPECT_EQ(::write(file.get(), "whole", 5), 5);
    });
    EXPECT_EQ(read(60'000'000'000), "whole");
    writer.join();
    ::unlink(path.c_str());

    descriptor const file = open_file(path, O_WRONLY | O_CREAT);
    EXPECT_EQ(read(0), "");
    ASSERT_EQ(::write(file.get(), "0123456789", 10), 10);
    EXPECT_EQ(read(0), "01234567") << "as much as fits";
    ::unlink(path.c_str());
    ::mkdir(path.c_str(), 0700);
    EXPECT_EQ(read(0), "cannot read " + path + ": Is a directory");
    ::rmdir(path.c_str());
}

TEST(ascii, has_case_in_its_letters_alone) {
    EXPECT_EQ(to_lower("AZ az@[`{ 09 \xc3\x89"), "az az@[`{ 09 \xc3\x89");
    EXPECT_TRUE(equal_ignoring_case("Content-TYPE", "content-type"));
    EXPECT_FALSE(equal_ignoring_case("@[", "`{"));
    EXPECT_FALSE(equal_ignoring_case("host", "hosts"));
}

TEST(ascii, has_tokens_as_the_rfc_lists_them) {
    std::string const bytes =
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (int byte = -128; byte < 128; ++byte) {
        std::string const text{'x', static_cast<char>(byte)};
        EXPECT_EQ(is_token(text), bytes.find(text[1]) != bytes.npos) << byte;
    }
    EXPECT_FALSE(is_token(""));
}

TEST(decimals, are_those_of_to_chars) {
    for (std::uint64_t value = 0; value < 1'000'000; ++value) expect_digits(value);
    for (std::uint64_t power = 1; power <= 10'000'000'000'000'000'000u; power *= 10) {
        for (std::uint64_t distance = 0; distance < 200; ++distance) {
            expect_digits(power + distance);
            expect_digits(power - std::min(distance, power));
        }
        if (power == 10'000'000'000'000'000'000u) break;
    }
    std::mt19937_64 random(7);
    for (int i = 0; i < 1'000'000; ++i) expect_digits(std::uint64_t{random() >> (random() % 64)});
    using limits = std::numeric_limits<std::int64_t>;
    expect_digits(std::numeric_limits<std::uint64_t>::max());
    for (auto const value : {limits::min(), limits::max(), std::int64_t{-1}, std::int64_t{-100}})
        expect_digits(value);
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
    // RFC 3339 §5.7: a leap second ends a month of UTC.
    EXPECT_EQ(parse_timestamp("1990-12-31T23:59:60Z"), parse_timestamp("1991-01-01T00:00:00Z"));
    EXPECT_EQ(parse_timestamp("1990-12-31T15:59:60.5-08:00"),
              parse_timestamp("1991-01-01T00:00:00.5Z"));
    for (auto const* bad : {"2000-01-01T12:30:60Z", "2000-06-30T23:59:60+01:00",
                            "2000-06-29T23:59:60Z", "2000-06-30T23:59:61Z"})
        EXPECT_FALSE(parse_timestamp(bad)) << bad;
    for (auto const* bad : {"", "2000-01-01", "2000-13-01T00:00:00Z", "2000-02-30T00:00:00Z",
                            "2000-01-01T24:00:00Z", "2000-01-01T00:00:00", "2000-01-01T00:00:00.Z",
                            "2000-01-01T00:00:00Z ", "2000-01-01 00:00:00Z"})
        EXPECT_FALSE(parse_timestamp(bad)) << bad;
}

// The cache of formatted timestamps has few entries, which many times share.
TEST(timestamps, are_right_in_any_order) {
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

// The bitwise definition (IEEE 802.3), over every length and every alignment.
TEST(crc32, is_its_definition) {
    std::string bytes;
    for (unsigned i = 0; i < 80; ++i) bytes += static_cast<char>(i * 151 + 7);
    for (std::size_t offset = 0; offset < 8; ++offset)
        for (std::size_t size = 0; offset + size <= bytes.size(); ++size) {
            auto const part = std::string_view(bytes).substr(offset, size);
            std::uint32_t sum = ~0u;
            for (unsigned char const byte : part) {
                sum ^= byte;
                for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0u);
            }
            EXPECT_EQ(crc32(part), ~sum) << offset << " " << size;
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

// Two digits at a time are the digits that come one by one.
TEST(base62, fraction_has_the_digits_of_repeated_multiplication) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 20'000; ++i) {
        auto const value = random() >> random() % 64;
        __extension__ using wide = unsigned __int128;
        std::string digits;
        for (auto rest = value; digits.size() < 11;) {
            auto const product = static_cast<wide>(rest) * 62;
            digits += base62_digits[static_cast<std::size_t>(product >> 64)];
            rest = static_cast<std::uint64_t>(product);
        }
        for (std::size_t size = 0; size <= digits.size(); ++size) {
            std::string text(size, '-');
            put_base62_fraction(value, text.data(), size);
            ASSERT_EQ(text, digits.substr(0, size)) << value;
        }
    }
}

TEST(base62, rejects_bytes_that_would_bias_the_distribution) {
    char text[4];
    EXPECT_EQ(random_base62("\xf8\xff", text, 4), 0u);
    EXPECT_EQ(random_base62(std::string_view("\xf7\x3e\x01", 3), text, 4), 3u);
    EXPECT_EQ(std::string_view(text, 3), "z01");
}

TEST(descriptors, are_closed_once) {
    auto file = open_file("/dev/null", O_RDONLY);
    ASSERT_TRUE(file.is_open());
    int const number = file.get();
    {
        descriptor const owner(std::move(file));
        EXPECT_FALSE(file.is_open());
        EXPECT_EQ(owner.get(), number);
        EXPECT_NE(::fcntl(number, F_GETFD) & FD_CLOEXEC, 0);
    }
    EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST(descriptors, keep_errno_and_report_none) {
    auto const missing = open_file("/dev/null/none", O_RDONLY);
    EXPECT_EQ(errno, ENOTDIR);
    EXPECT_FALSE(missing.is_open());
    auto file = open_file("/dev/null", O_RDONLY);
    errno = ENOSPC;
    file = descriptor();
    EXPECT_EQ(errno, ENOSPC);
    file = open_file("/dev/null", O_RDONLY);
    EXPECT_EQ(::close(file.release()), 0);
    EXPECT_FALSE(file.is_open());
}

TEST(visible, leaves_what_a_terminal_shows_as_it_is) {
    for (std::string_view const text :
         {"", "Ada Lovelace", "a\\b", "Jos\xc3\xa9", "\xc2\xa0", "\xd8\x9b\xd8\x9d",
          "\xe2\x80\x8d\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa", "\xf0\x9f\x94\x91"})
        EXPECT_EQ(visible(text), text);
}

TEST(visible, escapes_what_moves_the_cursor_or_the_text) {
    for (unsigned point = 0; point < 0x3000; ++point) {
        bool const control = point < 0x20 || (point >= 0x7f && point < 0xa0);
        bool const turns = point == 0x61c || point == 0x200e || point == 0x200f ||
                           (point >= 0x202a && point <= 0x202e) ||
                           (point >= 0x2066 && point <= 0x2069);
        bool const ends_line = point == 0x2028 || point == 0x2029;
        std::string text;
        if (point < 0x80) {
            text += static_cast<char>(point);
        } else if (point < 0x800) {
            text += static_cast<char>(0xc0 | point >> 6);
            text += static_cast<char>(0x80 | (point & 0x3f));
        } else {
            text += static_cast<char>(0xe0 | point >> 12);
            text += static_cast<char>(0x80 | (point >> 6 & 0x3f));
            text += static_cast<char>(0x80 | (point & 0x3f));
        }
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", point);
        bool const is_hidden = control || turns || ends_line;
        EXPECT_EQ(visible(text), is_hidden ? escape : text) << point;
        EXPECT_EQ(is_visible(text), !is_hidden) << point;
        EXPECT_EQ(is_visible("a" + text + "b"), !is_hidden) << point;
    }
}

TEST(visible, escapes_what_is_no_utf_8) {
    for (std::string_view const text : {"a\x9b"
                                        "31m",
                                        "\xe2\x80", "\xc2", "\xc0\x80", "a\xff"})
        EXPECT_FALSE(is_visible(text));
    EXPECT_TRUE(is_visible("\xf0\x9f\x94\x91"));
    EXPECT_EQ(visible("a\x9b"
                      "31m"),
              "a\\x9b31m");
    EXPECT_EQ(visible("\xe2\x80"), "\\xe2\\x80");
    EXPECT_EQ(visible("\xc2"), "\\xc2");
    EXPECT_EQ(visible("\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80"),
              "\\xc0\\x80\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");
}

TEST(search_texts, are_found_as_a_plain_search_finds_them) {
    std::mt19937 random(42);
    auto const draw = [&](std::size_t bytes_min, std::size_t bytes_max) {
        constexpr std::string_view letters = "aAbBz@[`{\xc3\xa4\xc4";
        std::string text(bytes_min + random() % (bytes_max - bytes_min + 1), ' ');
        for (char& letter : text) letter = letters[random() % (random() % 8 == 0 ? 12 : 2)];
        return text;
    };
    int finds = 0;
    for (int i = 0; i < 20'000; ++i) {
        auto const search = draw(1, i % 2 == 0 ? 4 : 100), text = draw(0, 300);
        bool const expected = to_lower(text).find(to_lower(search)) != std::string::npos;
        EXPECT_EQ(search_text(search).is_in(text), expected) << search << " in " << text;
        finds += expected ? 1 : 0;
    }
    EXPECT_GT(finds, 2'000);
    EXPECT_LT(finds, 18'000);
}

TEST(search_texts, know_every_byte_and_only_ascii_letters_in_both_cases) {
    for (int one = 0; one < 256; ++one)
        for (int other = 0; other < 256; ++other) {
            char const byte = static_cast<char>(one), second = static_cast<char>(other);
            EXPECT_EQ(search_text({&byte, 1}).is_in({&second, 1}),
                      to_lower(byte) == to_lower(second));
        }
    std::string const longest(limits::search_bytes_max, 'a');
    EXPECT_TRUE(search_text(longest).is_in("b" + longest));
    EXPECT_FALSE(search_text(longest).is_in(longest.substr(1) + "b" + longest.substr(1)));
    EXPECT_FALSE(search_text("a").is_in(""));
}

TEST(problems, are_all_described_in_order) {
    std::set<std::string_view> names;
    for (std::size_t i = 1; i < problems.size(); ++i) {
        EXPECT_EQ(static_cast<std::size_t>(problems[i].code), i);
        EXPECT_GE(problems[i].status, 400);
        EXPECT_FALSE(problems[i].title.empty());
        EXPECT_TRUE(names.insert(problems[i].name).second) << problems[i].name;
    }
    EXPECT_EQ(names.size(), problems.size() - 1);
}

// Vectors of the reference implementation (SipHash-2-4, 128 bits): the key is 00 to 0f, the message
// the first n bytes of 00, 01, 02, …, of which the first eight are the number.
TEST(keyed_hash, is_siphash) {
    constexpr std::string_view vectors[] = {
        "3b62a9ba6258f5610f83e264f31497b4", "264499060ad9baabc47f8b02bb6d71ed",
        "00110dc378146956c95447d3f3d0fbba", "0151c568386b6677a2b4dc6f81e5dc18",
        "d626b266905ef35882634df68532c125", "9869e247e9c08b10d029934fc4b952f7",
        "31fcefac66d7de9c7ec7485fe4494902", "5493e99933b0a8117e08ec0f97cfc3d9",
        "6ee2a4ca67b054bbfd3315bf85230577"};
    hash_key const key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
    for (std::size_t rest = 0; rest < std::size(vectors); ++rest) {
        std::string message;
        for (std::size_t i = 0; i < rest; ++i) message.push_back(static_cast<char>(8 + i));
        auto const print = keyed_hash(key, 0x0706050403020100, message);
        std::string bytes(sizeof print, '\0');
        std::memcpy(bytes.data(), &print, sizeof print);
        EXPECT_EQ(to_hex(bytes), vectors[rest]) << rest;
    }
    EXPECT_FALSE(keyed_hash(key, 1, "a") == keyed_hash(key, 2, "a"));
    EXPECT_FALSE(keyed_hash({1, 0}, 1, "a") == keyed_hash({2, 0}, 1, "a"));
}

}  // namespace
}  // namespace latchkey::base
