// SipHash-2-4 with 128 bits of output (Aumasson, Bernstein: "SipHash: a fast short-input PRF",
// 2012), for tables whose keys a client chooses: without the hash key collisions cannot be
// constructed. Not for secrets. Pure function; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace latchkey::base {

struct hash_key {
    std::uint64_t low = 0, high = 0;  // from the system's random source
};

struct fingerprint {
    std::uint64_t low = 0, high = 0;
    bool operator==(fingerprint const&) const = default;
};

// The hash of the message `number` (8 bytes, little-endian) followed by `bytes`.
fingerprint keyed_hash(hash_key const& key, std::uint64_t number, std::string_view bytes);

}  // namespace latchkey::base
