// Session ticket keys (RFC 5077, RFC 8446 §4.6.1): random, in memory only. The current key
// encrypts, the previous one still decrypts, and then the ticket is renewed. Immutable, shared by
// all workers; a rotation makes new ones. Any thread.
#pragma once

#include <array>
#include <chrono>
#include <memory>

namespace latchkey::tls {

// How long a session can be resumed, and the time between two rotations. So the key of a ticket is
// kept for at least one rotation after the ticket was issued.
inline constexpr std::chrono::seconds ticket_lifetime = std::chrono::hours(12);

struct ticket_keys {
    struct key {
        std::array<unsigned char, 16> name;
        std::array<unsigned char, 64> secret;  // 32 bytes for AES-256-CBC, 32 for HMAC-SHA256
    };
    key current, previous;
    // A fresh current key; the old current key becomes the previous one.
    std::shared_ptr<ticket_keys const> rotated() const;
    // Two fresh keys: a previous key of zeros would decrypt forged tickets.
    static std::shared_ptr<ticket_keys const> make();
    ~ticket_keys();  // wipes
};

}  // namespace latchkey::tls
