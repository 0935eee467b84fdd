// Bounds of tokens and of the keys of their issuers. Constants.
#pragma once

#include <cstddef>
#include <cstdint>

namespace latchkey::jwt {

inline constexpr std::size_t token_bytes_max = std::size_t{8} * 1024;
inline constexpr std::size_t subject_bytes_max = 255;
inline constexpr std::size_t key_id_bytes_max = 256;
inline constexpr std::uint32_t leeway_seconds_max = 60;

// Members of the JSON objects, nested ones too.
inline constexpr std::size_t header_members_max = 64;
inline constexpr std::size_t claims_members_max = 256;

inline constexpr std::size_t key_set_bytes_max = std::size_t{256} * 1024;
inline constexpr std::size_t key_set_keys_max = 100;
inline constexpr std::size_t key_set_members_max = 4096;

// RSA moduli; smaller ones can be factored (RFC 7518 §3.3), larger ones cost too much to verify.
inline constexpr unsigned rsa_bits_min = 2048;
inline constexpr unsigned rsa_bits_max = 8192;

}  // namespace latchkey::jwt
