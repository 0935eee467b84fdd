// What a browser holds instead of a key (api.md §18): the digest of the key, its generation of
// sessions and two times, sealed with AES-256-GCM (NIST SP 800-38D) under a key that only this
// service, or the nodes of its cluster, can derive. The service keeps nothing of it. Hexadecimal: a
// random nonce (12 bytes), the ciphertext and the tag (16). Immutable; any thread.
//
//     auth::session_cipher const cipher(*store.derived_key("browser sessions"));
//     auto const text = cipher.seal({digest, generation, now, now + hour});
//     if (auto const session = cipher.open(text)) … session->key_digest …
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "model/key.hpp"

namespace latchkey::auth {

struct browser_session {
    model::digest key_digest{};
    std::uint64_t generation = 0;  // domain::snapshot::sessions_generation when the key was shown
    base::wall_ms started_at = 0;  // when the key was shown
    base::wall_ms expires_at = 0;
};

class session_cipher {
  public:
    static constexpr std::size_t sealed_bytes = 2 * (12 + 32 + 8 + 8 + 8 + 16);

    explicit session_cipher(std::array<char, 32> const& key);
    ~session_cipher();  // wipes the key
    session_cipher(session_cipher const&) = delete;
    session_cipher& operator=(session_cipher const&) = delete;

    std::string seal(browser_session const& session) const;
    // nullopt: sealed under another key, altered, or nothing of ours.
    std::optional<browser_session> open(std::string_view text) const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace latchkey::auth
