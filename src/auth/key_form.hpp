// The form of a key (API §4): 4 characters of prefix, 38 random ones (226 bits), 6 of the CRC-32
// (IEEE 802.3) of the first 42, all base62. A string of another form is refused without a look-up;
// the checksum is for that and for finding leaked keys in texts, not a secret. Any thread.
//
//     auth::fresh_key const made("lkey");                 // shown to its owner, then wiped
//     record.digest = auth::digest_of(made.text());       // all that is kept
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

// True for 48 base62 characters whose checksum is right (whatever their prefix: it may have
// changed).
bool has_key_form(std::string_view text);
// What an imported digest may have been made of: 32 to 256 of [A-Za-z0-9_.~+/=-].
bool has_imported_form(std::string_view text);

// SHA-256 (FIPS 180-4) of the whole key. Plain, without salt or stretching: nobody searches 226
// bits.
model::digest digest_of(std::string_view key);

// A key on its way to its owner; wiped when it goes. Shown once, never stored.
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

// Fills with bytes of the OS's random source (BoringSSL's RAND_bytes, which ends the process rather
// than fail).
void random_bytes(void* to, std::size_t size);

}  // namespace latchkey::auth
