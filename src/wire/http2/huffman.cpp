#include "wire/http2/huffman.hpp"

#include <array>
#include <cstdint>

namespace latchkey::http2 {
namespace {

constexpr unsigned symbol_count = 257;  // the bytes and the end of the string
constexpr unsigned end_symbol = 256;
constexpr unsigned longest_code = 30;
constexpr unsigned lookup_bits = 9;

// RFC 7541, Appendix B: the bits of each symbol's code. The codes follow from them: the code is
// canonical, so codes of one length ascend with their symbols and each length continues the last.
constexpr std::array<std::uint8_t, symbol_count> code_bits{
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6,  10, 10, 12, 13, 6,  8,  11, 10, 10, 8,  11, 8,  6,  6,  6,
    5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8,  15, 6,  12, 10, 13, 6,  7,  7,  7,  7,  7,  7,
    7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8,  13, 19, 13, 14, 6,
    15, 5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,  6,  7,  6,  5,  5,  6,  7,  7,
    7,  7,  7,  15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30};

struct huffman_code {
    // The codes of one length: their first one, and where their symbols begin in `symbols`.
    struct length {
        std::uint32_t first_code = 0;
        std::uint16_t first_symbol = 0;
        std::uint16_t count = 0;
    };
    struct entry {
        std::uint8_t symbol = 0;
        std::uint8_t bits = 0;  // 0: the code is longer than lookup_bits
    };

    std::array<std::uint32_t, symbol_count> codes{};
    std::array<std::uint16_t, symbol_count> symbols{};  // by length of their code, then ascending
    std::array<length, longest_code + 1> lengths{};
    std::array<entry, 1u << lookup_bits> lookup{};
};

constexpr huffman_code make_code() {
    huffman_code code_table;
    std::uint32_t code = 0;
    std::uint16_t position = 0;
    for (unsigned bits = 1; bits <= longest_code; ++bits) {
        code <<= 1;
        code_table.lengths[bits] = {code, position, 0};
        for (unsigned symbol = 0; symbol < symbol_count; ++symbol) {
            if (code_bits[symbol] != bits) continue;
            code_table.codes[symbol] = code;
            code_table.symbols[position++] = static_cast<std::uint16_t>(symbol);
            ++code_table.lengths[bits].count;
            if (bits <= lookup_bits)
                for (std::uint32_t rest = 0; rest < 1u << (lookup_bits - bits); ++rest)
                    code_table.lookup[(code << (lookup_bits - bits)) + rest] = {
                        static_cast<std::uint8_t>(symbol), static_cast<std::uint8_t>(bits)};
            ++code;
        }
    }
    return code_table;
}

constexpr huffman_code table = make_code();
static_assert(table.codes['0'] == 0 && table.codes['a'] == 3 &&
                  table.codes[end_symbol] == 0x3fffffff,
              "RFC 7541, Appendix B");

// The bits that were read and not decoded, the next one on top.
struct bit_buffer {
    std::uint64_t bits = 0;
    unsigned count = 0;
};

// The symbol of a code of more than lookup_bits; end_symbol: there is no such code, or not all of
// it.
unsigned decode_long_symbol(bit_buffer& buffer) {
    for (unsigned bits = lookup_bits + 1; bits <= longest_code && bits <= buffer.count; ++bits) {
        auto const code = static_cast<std::uint32_t>(buffer.bits >> (64 - bits));
        auto const& length = table.lengths[bits];
        if (code - length.first_code >= length.count) continue;
        buffer.bits <<= bits;
        buffer.count -= bits;
        return table.symbols[length.first_symbol + code - length.first_code];
    }
    return end_symbol;
}

}  // namespace

std::optional<std::size_t> huffman_decode(std::string_view encoded, char* output) {
    char* const begin = output;
    bit_buffer buffer;
    for (std::size_t next = 0;;) {
        while (buffer.count <= 56 && next < encoded.size()) {
            auto const byte = std::uint64_t{static_cast<unsigned char>(encoded[next++])};
            buffer.bits |= byte << (56 - buffer.count);
            buffer.count += 8;
        }
        auto const entry = table.lookup[buffer.bits >> (64 - lookup_bits)];
        if (entry.bits != 0 && entry.bits <= buffer.count) {
            *output++ = static_cast<char>(entry.symbol);
            buffer.bits <<= entry.bits;
            buffer.count -= entry.bits;
            continue;
        }
        // What is left is padding: fewer than eight ones, the beginning of the end symbol's code.
        if (next == encoded.size() && buffer.count < 8) {
            auto const padding = buffer.count == 0 ? 0 : ~(~std::uint64_t{0} >> buffer.count);
            if (buffer.bits != padding) return std::nullopt;
            return static_cast<std::size_t>(output - begin);
        }
        auto const symbol = decode_long_symbol(buffer);
        if (symbol == end_symbol) return std::nullopt;
        *output++ = static_cast<char>(symbol);
    }
}

std::size_t huffman_encoded_bytes(std::string_view text) {
    std::size_t bits = 0;
    for (char const byte : text) bits += code_bits[static_cast<unsigned char>(byte)];
    return (bits + 7) / 8;
}

char* huffman_encode(std::string_view text, char* output) {
    std::uint64_t bits = 0;
    unsigned count = 0;
    for (char const byte : text) {
        auto const symbol = static_cast<unsigned char>(byte);
        bits = bits << code_bits[symbol] | table.codes[symbol];
        for (count += code_bits[symbol]; count >= 8; count -= 8)
            *output++ = static_cast<char>(bits >> (count - 8));
    }
    if (count != 0) *output++ = static_cast<char>(bits << (8 - count) | (0xffu >> count));
    return output;
}

}  // namespace latchkey::http2
