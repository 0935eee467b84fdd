#include "auth/key_form.hpp"

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>

#include "base/base62.hpp"
#include "base/bytes.hpp"
#include "base/check.hpp"

namespace latchkey::auth {
namespace {

constexpr std::size_t checksum_bytes = 6;  // 62^6 > 2^32
constexpr std::size_t checked_bytes = key_prefix_bytes + key_random_bytes;
static_assert(checked_bytes + checksum_bytes == key_bytes);

constexpr auto imported_table = [] {
    std::array<bool, 256> table{};
    for (unsigned char const byte : base::base62_digits) table[byte] = true;
    for (unsigned char const byte : std::string_view("_.~+/=-")) table[byte] = true;
    return table;
}();

void put_checksum(std::string_view checked, char* output) {
    base::put_base62(base::crc32(checked), output, checksum_bytes);
}

// Range checks instead of a table and no early exit, so that the compiler vectorises it: 16
// characters at once.
bool is_all_base62(std::string_view text) {
    unsigned char other = 0;
    for (unsigned char const byte : text) {
        auto const digit = static_cast<unsigned char>(byte - '0');
        auto const letter = static_cast<unsigned char>((byte | 0x20) - 'a');
        other |= (digit > 9) & (letter > 25);
    }
    return other == 0;
}

}  // namespace

bool is_key_prefix(std::string_view text) {
    return text.size() == key_prefix_bytes && is_all_base62(text);
}

bool has_key_form(std::string_view text) {
    if (text.size() != key_bytes) return false;
    // The checksum's characters are compared below with base62 ones.
    std::string_view const checked = text.substr(0, checked_bytes);
    if (!is_all_base62(checked)) return false;
    char checksum[checksum_bytes];
    put_checksum(checked, checksum);
    return std::memcmp(checksum, text.data() + checked_bytes, checksum_bytes) == 0;
}

bool has_imported_form(std::string_view text) {
    if (text.size() < 32 || text.size() > 256) return false;
    return std::all_of(text.begin(), text.end(),
                       [](unsigned char byte) { return imported_table[byte]; });
}

model::digest digest_of(std::string_view key) {
    static_assert(std::tuple_size_v<model::digest> == SHA256_DIGEST_LENGTH);
    model::digest result;
    SHA256(reinterpret_cast<std::uint8_t const*>(key.data()), key.size(), result.data());
    return result;
}

fresh_key::fresh_key(std::string_view prefix) {
    // The setting keys.prefix is refused with another form when it is read.
    base::check(is_key_prefix(prefix), "a key's prefix of another form");
    char* output = std::copy(prefix.begin(), prefix.end(), text_.data());
    char* const end = text_.data() + checked_bytes;
    // Rejection sampling discards 8 of 256 values, so one round is nearly always enough.
    char random[64];
    while (output != end) {
        random_bytes(random, sizeof random);
        output += base::random_base62({random, sizeof random}, output,
                                      static_cast<std::size_t>(end - output));
    }
    base::wipe(random, sizeof random);
    put_checksum({text_.data(), checked_bytes}, end);
}

fresh_key::~fresh_key() {
    base::wipe(text_.data(), text_.size());
}

void random_bytes(void* output, std::size_t size) {
    base::check(RAND_bytes(static_cast<std::uint8_t*>(output), size) == 1, "no random bytes");
}

}  // namespace latchkey::auth
