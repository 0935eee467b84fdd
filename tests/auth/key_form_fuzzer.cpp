// The form of a key against a reference implementation, written from api.md §4 alone: bit by bit
// and digit by digit. The first byte selects whether the text is used as it is, gets a valid
// checksum, or also has one character changed after that.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "auth/key_form.hpp"

namespace {

constexpr std::string_view alphabet =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t checked = 42;

void require(bool holds) {
    if (!holds) __builtin_trap();
}

std::uint32_t reference_crc(std::string_view text) {
    std::uint32_t rest = 0xffffffff;
    for (unsigned char const byte : text)
        for (int bit = 0; bit < 8; ++bit) {
            bool const odd = ((rest ^ (byte >> bit)) & 1) != 0;
            rest = (rest >> 1) ^ (odd ? 0xedb88320u : 0);
        }
    return ~rest;
}

std::string reference_checksum(std::string_view text) {
    std::string digits;
    std::uint64_t rest = reference_crc(text);
    for (int i = 0; i < 6; ++i, rest /= 62) digits.insert(digits.begin(), alphabet[rest % 62]);
    return digits;
}

bool consists_of(std::string_view text, std::string_view allowed) {
    return text.find_first_not_of(allowed) == text.npos;
}

bool reference_form(std::string_view text) {
    return text.size() == 48 && consists_of(text, alphabet) &&
           text.substr(checked) == reference_checksum(text.substr(0, checked));
}

bool reference_imported(std::string_view text) {
    static std::string const allowed = std::string(alphabet) + "_.~+/=-";
    return text.size() >= 32 && text.size() <= 256 && consists_of(text, allowed);
}

void compare(std::string_view text) {
    // In memory of exactly its size, so that a read beyond its end is detected.
    std::string const copy(text);
    require(latchkey::auth::has_key_form(copy) == reference_form(copy));
    require(latchkey::auth::has_imported_form(copy) == reference_imported(copy));
    require(latchkey::auth::is_key_prefix(copy) ==
            (copy.size() == 4 && consists_of(copy, alphabet)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    std::string text(reinterpret_cast<char const*>(data) + 1, size - 1);
    compare(text);
    if (data[0] % 4 == 0) return 0;
    if (data[0] % 4 != 1)
        for (auto& byte : text) byte = alphabet[static_cast<unsigned char>(byte) % 62];
    if (data[0] % 4 == 3) text.resize(checked, 'x');
    text += reference_checksum(text);
    compare(text);
    if (data[0] % 4 == 3) require(latchkey::auth::has_key_form(text));
    text[data[0] % text.size()] ^= static_cast<char>(data[size - 1]);
    compare(text);
    return 0;
}
