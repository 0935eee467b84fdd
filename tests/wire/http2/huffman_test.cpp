#include "wire/http2/huffman.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "hex.hpp"

namespace latchkey::http2 {
namespace {

std::string encode(std::string_view text) {
    std::string output(huffman_encoded_bytes(text), '\0');
    EXPECT_EQ(huffman_encode(text, output.data()), output.data() + output.size());
    return output;
}

std::optional<std::string> decode(std::string_view encoded) {
    std::string output(huffman_decoded_bytes_max(encoded.size()), '\0');
    auto const size = huffman_decode(encoded, output.data());
    if (!size) return std::nullopt;
    output.resize(*size);
    return output;
}

// RFC 7541, Appendix C.4 and C.6.
TEST(huffman, encodes_as_the_examples_of_the_rfc) {
    struct {
        std::string_view text, hex;
    } const rows[] = {
        {"www.example.com", "f1e3 c2e5 f23a 6ba0 ab90 f4ff"},
        {"no-cache", "a8eb 1064 9cbf"},
        {"custom-key", "25a8 49e9 5ba9 7d7f"},
        {"custom-value", "25a8 49e9 5bb8 e8b4 bf"},
        {"302", "6402"},
        {"private", "aec3 771a 4b"},
        {"Mon, 21 Oct 2013 20:13:21 GMT", "d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff"},
        {"https://www.example.com", "9d29 ad17 1863 c78f 0b97 c8e9 ae82 ae43 d3"},
        {"", ""},
    };
    for (auto const& row : rows) {
        EXPECT_EQ(encode(row.text), bytes_of(row.hex)) << row.text;
        EXPECT_EQ(decode(bytes_of(row.hex)), row.text);
    }
}

TEST(huffman, gives_every_byte_back) {
    for (unsigned byte = 0; byte < 256; ++byte)
        for (std::size_t count = 1; count <= 9; ++count) {
            std::string const text(count, static_cast<char>(byte));
            EXPECT_EQ(decode(encode(text)), text) << byte;
        }
    std::mt19937 random(7541);
    for (int i = 0; i < 2000; ++i) {
        std::string text(random() % 64, '\0');
        for (auto& byte : text) byte = static_cast<char>(random());
        EXPECT_EQ(decode(encode(text)), text);
    }
}

// §5.2: padding of more than seven bits, or of other bits than ones, and the end-of-string symbol.
TEST(huffman, refuses_what_the_rfc_calls_a_decoding_error) {
    EXPECT_EQ(decode(bytes_of("ff")), std::nullopt) << "eight bits of padding";
    EXPECT_EQ(decode(bytes_of("1fff")), std::nullopt) << "an 'a' and eleven bits of padding";
    EXPECT_EQ(decode(bytes_of("1f")), "a");
    EXPECT_EQ(decode(bytes_of("18")), std::nullopt) << "padding of zeros";
    EXPECT_EQ(decode(bytes_of("1e")), std::nullopt) << "the last bit of the padding is zero";
    EXPECT_EQ(decode(bytes_of("ffffffff")), std::nullopt) << "the end of the string and two bits";
    EXPECT_EQ(decode(bytes_of("fffffffc")), std::nullopt) << "the end of the string, padded";
    EXPECT_EQ(decode(bytes_of("fffffe")), std::nullopt) << "half a code at the end";
}

}  // namespace
}  // namespace latchkey::http2
