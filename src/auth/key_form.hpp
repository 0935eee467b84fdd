// The form of a key (api.md §4): 4 characters of prefix, 38 random ones (226 bits), 6 of the CRC-32
// (IEEE 802.3) of the first 42, all base62. A string of another form is refused without a look-up.
// The checksum is no secret; it serves that check and secret scanners. Any thread.
//
//     auth::fresh_key const key("lkey");                 // shown to its owner, then wiped
//     record.digest = auth::digest_of(key.text());       // the only part that is stored
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/key.hpp"

namespace latchkey::auth {

inline constexpr std::size_t key_bytes = 48;
inline constexpr std::size_t key_prefix_bytes = 4;
inline constexpr std::size_t key_random_bytes = 38;

bool is_key_prefix(std::string_view text);  // [0-9A-Za-z]{4}

// True for 48 base62 characters with a valid checksum. Any prefix: the setting may have changed.
bool has_key_form(std::string_view text);
// The form of keys whose digests were imported: 32 to 256 of [A-Za-z0-9_.~+/=-].
bool has_imported_form(std::string_view text);

// SHA-256 (FIPS 180-4) of the whole key, without salt or stretching: 226 random bits cannot be
// searched.
model::digest digest_of(std::string_view key);

// A new key on its way to its owner: shown once, never stored, wiped by the destructor.
class fresh_key {
  public:
    // From the OS's random source. The prefix must be one (`is_key_prefix`).
    explicit fresh_key(std::string_view prefix);
    ~fresh_key();
    fresh_key(fresh_key const&) = delete;
    fresh_key& operator=(fresh_key const&) = delete;

    std::string_view text() const { return {text_.data(), text_.size()}; }

  private:
    std::array<char, key_bytes> text_;
};

// Fills `output` from the OS's random source (BoringSSL's RAND_bytes, which ends the process rather
// than fail).
void random_bytes(void* output, std::size_t size);

}  // namespace latchkey::auth
