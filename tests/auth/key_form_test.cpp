#include "auth/key_form.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <unordered_set>

#include "base/base62.hpp"
#include "base/bytes.hpp"

namespace latchkey::auth {
namespace {

// Appends the checksum.
std::string complete(std::string text) {
    std::array<char, 6> checksum;
    base::put_base62(base::crc32(text), checksum.data(), checksum.size());
    return text.append(checksum.data(), checksum.size());
}

std::string const sample = complete("lkey0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZab");

TEST(key_form, accepts_a_valid_checksum) {
    EXPECT_EQ(sample.size(), key_bytes);
    EXPECT_TRUE(has_key_form(sample));
    EXPECT_TRUE(has_key_form(complete(std::string(42, '0'))));
    EXPECT_TRUE(has_key_form(complete(std::string(42, 'z'))));
}

TEST(key_form, ends_in_zlib_s_crc_32) {
    EXPECT_TRUE(has_key_form("0000000000000000000000000000000000000000001CtB1C"));
    EXPECT_TRUE(has_key_form("lkey0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZab4M5b9O"));
}

TEST(key_form, refuses_other_lengths) {
    for (std::size_t size = 0; size < key_bytes; ++size)
        EXPECT_FALSE(has_key_form(std::string_view(sample).substr(0, size))) << size;
    EXPECT_FALSE(has_key_form(sample + "0"));
    EXPECT_FALSE(has_key_form(sample + sample));
    for (std::size_t size : {41u, 43u})
        EXPECT_FALSE(has_key_form(complete(std::string(size, 'a'))));
}

TEST(key_form, catches_every_change_of_one_character) {
    for (std::size_t index = 0; index < key_bytes; ++index)
        for (int byte = 0; byte < 256; ++byte) {
            auto copy = sample;
            copy[index] = static_cast<char>(byte);
            EXPECT_EQ(has_key_form(copy), copy == sample) << index << ' ' << byte;
        }
}

TEST(key_form, catches_every_swap_of_neighbours) {
    for (std::size_t index = 0; index + 1 < key_bytes; ++index) {
        auto copy = sample;
        std::swap(copy[index], copy[index + 1]);
        EXPECT_EQ(has_key_form(copy), copy == sample) << index;
    }
}

TEST(key_form, requires_base62_even_with_a_valid_checksum) {
    for (std::size_t index = 0; index < 42; ++index)
        for (int byte = 0; byte < 256; ++byte) {
            auto text = sample.substr(0, 42);
            text[index] = static_cast<char>(byte);
            bool const allowed = base::is_base62(static_cast<unsigned char>(byte));
            EXPECT_EQ(has_key_form(complete(text)), allowed) << index << ' ' << byte;
        }
}

TEST(key_prefix, is_four_of_base62) {
    for (auto const* valid : {"lkey", "0000", "ZzA9"}) EXPECT_TRUE(is_key_prefix(valid));
    for (auto const* invalid : {"", "lke", "lkeys", "lk_y", "lk y", "lkeé"})
        EXPECT_FALSE(is_key_prefix(invalid)) << invalid;
}

TEST(imported_form, is_32_to_256_of_its_characters) {
    EXPECT_TRUE(has_imported_form(std::string(32, 'a')));
    EXPECT_TRUE(has_imported_form(std::string(256, 'a')));
    EXPECT_FALSE(has_imported_form(std::string(31, 'a')));
    EXPECT_FALSE(has_imported_form(std::string(257, 'a')));
    EXPECT_FALSE(has_imported_form(""));
    std::string_view const marks = "_.~+/=-";
    for (int byte = 0; byte < 256; ++byte) {
        auto const symbol = static_cast<char>(byte);
        bool const allowed = base::is_base62(static_cast<unsigned char>(byte)) ||
                             marks.find(symbol) != std::string_view::npos;
        for (std::size_t const index : {0u, 20u, 39u}) {
            std::string text(40, 'a');
            text[index] = symbol;
            EXPECT_EQ(has_imported_form(text), allowed) << byte;
        }
    }
}

TEST(digests, are_sha_256) {
    auto const hex = [](std::string_view text) {
        auto const digest = digest_of(text);
        return base::to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()});
    };
    // FIPS 180-4's examples: one block, and one whose padding takes a second.
    EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(fresh_keys, are_uniform_and_all_different) {
    constexpr int count = 100'000;
    std::array<std::array<int, 256>, key_bytes> counts{};
    std::unordered_set<std::string> all;
    for (int i = 0; i < count; ++i) {
        fresh_key const key("Ab09");
        auto const text = key.text();
        ASSERT_TRUE(has_key_form(text));
        ASSERT_TRUE(text.starts_with("Ab09"));
        for (std::size_t index = 0; index < key_bytes; ++index)
            ++counts[index][static_cast<unsigned char>(text[index])];
        all.emplace(text.substr(4, key_random_bytes));
    }
    EXPECT_EQ(all.size(), static_cast<std::size_t>(count));
    // Chi-square with 61 degrees of freedom: mean 61, and above 150 with a chance of less than 1e-8
    // at each of the 38 positions. A modulo without rejection would be at thousands.
    double const expected = count / 62.0;
    for (std::size_t index = key_prefix_bytes; index < key_prefix_bytes + key_random_bytes;
         ++index) {
        double chi_square = 0;
        for (unsigned char const digit : base::base62_digits) {
            double const deviation = counts[index][digit] - expected;
            chi_square += deviation * deviation / expected;
        }
        EXPECT_LT(chi_square, 150) << index;
        EXPECT_GT(chi_square, 15) << index;
    }
}

TEST(random_bytes, fill_exactly_the_given_memory) {
    std::string bytes(100, '\0');
    random_bytes(bytes.data() + 10, 80);
    EXPECT_EQ(bytes.substr(0, 10), std::string(10, '\0'));
    EXPECT_EQ(bytes.substr(90), std::string(10, '\0'));
    EXPECT_NE(bytes.substr(10, 40), bytes.substr(50, 40));
}

}  // namespace
}  // namespace latchkey::auth
