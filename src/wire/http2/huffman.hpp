// The Huffman code of HPACK (RFC 7541 §5.2 and Appendix B). Decoding looks nine bits up at a time,
// since the letters, digits and marks of field values have codes of five to eight; longer codes are
// found by their length, because the code is canonical. Stateless; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace latchkey::http2 {

// A byte takes at least five bits, so decoded text has at most 8/5 of the encoded size.
constexpr std::size_t huffman_decoded_bytes_max(std::size_t encoded_bytes) {
    return encoded_bytes * 8 / 5;
}

// Writes the text to `output`, which has huffman_decoded_bytes_max() of space, and returns its
// size. nullopt: a code that does not exist, the end-of-string symbol, or padding that is longer
// than seven bits or not all ones (RFC 7541 §5.2: a decoding error).
std::optional<std::size_t> huffman_decode(std::string_view encoded, char* output);

std::size_t huffman_encoded_bytes(std::string_view text);
// Writes huffman_encoded_bytes(text) bytes and returns the end of them.
char* huffman_encode(std::string_view text, char* output);

}  // namespace latchkey::http2
