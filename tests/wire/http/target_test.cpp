#include "wire/http/target.hpp"

#include <gtest/gtest.h>

#include <string>

#include "wire/http/authority.hpp"

namespace latchkey::http {
namespace {

using namespace std::string_literals;

TEST(target, decodes) {
    EXPECT_EQ(percent_decode("", false), "");
    EXPECT_EQ(percent_decode("a%20b%2Fc%2fd", false), "a b/c/d");
    EXPECT_EQ(percent_decode("%C3%A9%ff", false), "\xc3\xa9\xff");
    EXPECT_EQ(percent_decode("a+b", false), "a+b");
    EXPECT_EQ(percent_decode("a+b%2B", true), "a b+");
    EXPECT_EQ(percent_decode("%2541", false), "%41");
}

TEST(target, refuses_invalid_escapes) {
    for (auto const text : {"%", "a%", "%4", "%4g", "%g4", "%%41", "% 41", "%-1", "%00", "a%00b"}) {
        EXPECT_EQ(percent_decode(text, false), std::nullopt) << text;
        EXPECT_EQ(percent_decode(text, true), std::nullopt) << text;
    }
    EXPECT_EQ(percent_decode("a\0b"s, false), std::nullopt);
    // Bytes after the view must not be read.
    std::string_view const text = "%41";
    EXPECT_EQ(percent_decode(text.substr(0, 2), false), std::nullopt);
    EXPECT_EQ(percent_decode(text.substr(0, 1), false), std::nullopt);
    std::string_view const host = "a%41";
    EXPECT_TRUE(is_authority(host));
    EXPECT_FALSE(is_authority(host.substr(0, 3)));
    EXPECT_FALSE(is_authority(host.substr(0, 2)));
}

TEST(target, encodes) {
    EXPECT_EQ(percent_encode("azAZ09-._~"), "azAZ09-._~");
    EXPECT_EQ(percent_encode("a b/+&=%\xc3\xa9"), "a%20b%2F%2B%26%3D%25%C3%A9");
}

TEST(target, encoding_and_decoding_return_every_byte) {
    for (int value = 1; value < 256; ++value) {
        std::string const text(1, static_cast<char>(value));
        EXPECT_EQ(percent_decode(percent_encode(text), true), text);
    }
}

std::string walk(std::string_view query) {
    std::string text;
    query_cursor cursor(query);
    while (auto const parameter = cursor.next())
        text.append("[")
            .append(parameter->name)
            .append("|")
            .append(parameter->value)
            .append("|")
            .append(parameter->whole)
            .append("]");
    EXPECT_FALSE(cursor.next().has_value());
    return text;
}

TEST(target, iterates_over_parameters) {
    EXPECT_EQ(walk(""), "");
    EXPECT_EQ(walk("&&"), "");
    EXPECT_EQ(walk("a=b"), "[a|b|a=b]");
    EXPECT_EQ(walk("a=b&c=d"), "[a|b|a=b][c|d|c=d]");
    EXPECT_EQ(walk("&a&&b=&=c&d=e=f&"), "[a||a][b||b=][|c|=c][d|e=f|d=e=f]");
    EXPECT_EQ(walk("a%3D=%26"), "[a%3D|%26|a%3D=%26]");
}

}  // namespace
}  // namespace latchkey::http
