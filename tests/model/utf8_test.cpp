#include "model/utf8.hpp"

#include <gtest/gtest.h>

namespace latchkey::model {
namespace {

TEST(text, is_plain_without_anything_json_escapes) {
    for (std::size_t size = 0; size < 40; ++size) {
        std::string text(size, 'a');
        EXPECT_TRUE(is_plain(text));
        for (std::size_t index = 0; index < size; ++index)
            for (int byte = 0; byte < 256; ++byte) {
                auto copy = text;
                copy[index] = static_cast<char>(byte);
                EXPECT_EQ(is_plain(copy), byte >= 0x20 && byte != '"' && byte != '\\') << byte;
            }
    }
}

TEST(text, is_counted_in_code_points) {
    EXPECT_EQ(code_point_count(""), 0u);
    EXPECT_EQ(code_point_count("abc"), 3u);
    EXPECT_EQ(code_point_count("\xc3\xa9"), 1u);            // é
    EXPECT_EQ(code_point_count("e\xcc\x81"), 2u);           // e and a combining acute accent
    EXPECT_EQ(code_point_count("\xe2\x82\xac"), 1u);        // €
    EXPECT_EQ(code_point_count("a\xf0\x9f\x94\x91z"), 3u);  // a key between letters
}

TEST(text, shows_its_control_characters) {
    for (int point = 0; point < 0x20; ++point)
        EXPECT_TRUE(has_control_character(std::string(1, char(point))));
    EXPECT_TRUE(has_control_character("a\x7f"));
    for (int second = 0x80; second < 0xc0; ++second)
        EXPECT_EQ(has_control_character(std::string("a\xc2") + char(second) + "b"), second < 0xa0)
            << second;
    EXPECT_FALSE(has_control_character(""));
    EXPECT_FALSE(has_control_character("Zo\xc3\xab ~ \xe2\x80\x8d \xf0\x9f\x94\x91"));
    // Bytes 80 to 9F as continuation bytes of other sequences are not control characters.
    EXPECT_FALSE(has_control_character("\xc3\x80\xe2\x82\x80"));
}

TEST(text, knows_what_a_terminal_hides_or_reorders) {
    for (std::string const point :
         {"\xc2\x80", "\xc2\x9f", "\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8",
          "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"})
        for (std::size_t offset = 0; offset < 18; ++offset)
            for (std::string const rest : {"", "z", "zzzzzzzzzzzzzzzzz"})
                EXPECT_TRUE(has_hidden_point(std::string(offset, 'a') + point + rest)) << offset;
    for (std::string const text :
         {"", "Ada Lovelace, of London", "\xc2\xa0", "\xd8\x9b", "\xe2\x80\x8d", "\xe2\x80\x99",
          "\xe2\x82\xac\xe2\x81\xa5", "\xe8\x80\xae\xc3\x98\xc4\x82", "\xf0\x9f\x98\x80"})
        EXPECT_FALSE(has_hidden_point(text + "Zo\xc3\xab" + text)) << text;
}

// Each alone and between two of them; their neighbours in Unicode's table are visible.
TEST(text, is_blank_when_it_is_white_space_alone) {
    for (std::string const space :
         {"\t", "\n", "\v", "\f", "\r", " ", "\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\x80",
          "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f",
          "\xe3\x80\x80", "\xef\xbb\xbf"}) {
        EXPECT_TRUE(is_blank(space));
        EXPECT_TRUE(is_blank(" " + space + space));
        EXPECT_FALSE(is_blank(space + "a"));
        EXPECT_FALSE(is_blank("a" + space));
        EXPECT_FALSE(is_blank(space + "\xf0\x9f\x94\x91" + space));
    }
    EXPECT_TRUE(is_blank(""));
    for (std::string const other :
         {"a", "0", "\x08", "\x0e", "!", "\xc2\x84", "\xc2\x86", "\xc2\xa1", "\xc3\xa0",
          "\xe1\x9a\x81", "\xe2\x80\x8b", "\xe2\x80\xa7", "\xe2\x80\xb0", "\xe3\x80\x81",
          "\xf0\x9f\x99\x82"})
        EXPECT_FALSE(is_blank(other)) << other;
}

}  // namespace
}  // namespace latchkey::model
