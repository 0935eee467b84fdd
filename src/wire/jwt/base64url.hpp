// Base64url without padding, as JOSE uses it (RFC 7515 §2, RFC 4648 §5), read exactly: one text for
// one sequence of bytes. Padding, white space, characters of plain base64 and bits that are left
// over in the last character are errors. Any thread. `api` decodes the claims
// of accepted tokens with it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace latchkey::jwt {

constexpr std::size_t decoded_bytes(std::size_t characters) {
    return characters / 4 * 3 + (characters % 4 * 3) / 4;
}

// Writes decoded_bytes(text.size()) bytes. Empty: the text is not base64url, and what was written
// means nothing.
std::optional<std::string_view> decode_base64url(std::string_view text, char* output);
std::optional<std::string> decode_base64url(std::string_view text);

bool is_base64url(char character);
// 0 to 63; of another character the result is larger.
unsigned base64url_value(char character);

}  // namespace latchkey::jwt
