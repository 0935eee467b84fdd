#include "auth/base64.hpp"

#include <openssl/base64.h>

namespace latchkey::auth {

std::string base64_of(std::string_view bytes) {
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // EVP_EncodeBlock adds a NUL
    text.resize(::EVP_EncodeBlock(reinterpret_cast<std::uint8_t*>(text.data()),
                                  reinterpret_cast<std::uint8_t const*>(bytes.data()),
                                  bytes.size()));
    return text;
}

}  // namespace latchkey::auth
