// Signatures of what is sent to webhooks (api.md §17), in the form of Standard Webhooks
// (standardwebhooks.com): over `id.timestamp.body`, symmetric by HMAC-SHA-256 (RFC 2104, `v1,`) and
// asymmetric by Ed25519 (RFC 8032, `v1a,`), each in base64. Both keys of a webhook are random and
// 32 bytes long; the receiver gets one of them as `whsec_` and base64, or the public key of the
// other as `whpk_` and base64. Pure but for the random source; any thread.
//
//     auto const secret = auth::make_webhook_secret();
//     auto const value = auth::sign_webhook({id, now_ms / 1000, body}, secrets, {.v1 = true});
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "domain/webhooks/webhook_command.hpp"

namespace latchkey::auth {

using webhook_public_key = std::array<unsigned char, 32>;

// From the OS's random source.
model::webhook_secret make_webhook_secret();
// The secret's seed must have 32 bytes.
webhook_public_key public_key_of(model::webhook_secret const& secret);

// `whsec_` and base64, as its owner sees it once. `hmac` has 32 bytes.
base::secret secret_text(base::secret const& hmac);
std::string public_key_text(webhook_public_key const& key);  // `whpk_` and base64
std::optional<webhook_public_key> parse_public_key(std::string_view text);

struct webhook_message {
    std::string_view id;         // webhook-id
    std::int64_t timestamp = 0;  // webhook-timestamp: seconds since 1970
    std::string_view body;
};
struct webhook_signature_kinds {
    bool v1 = true;
    bool v1a = false;
};
// The value of `webhook-signature`: for each secret a signature of each kind, with a space between.
std::string sign_webhook(webhook_message const& message,
                         std::span<model::webhook_secret const> secrets,
                         webhook_signature_kinds kinds);
// The same, of the kinds and with the secrets of a webhook.
std::string sign_webhook(domain::signing_webhook const& webhook, std::string_view id,
                         std::int64_t timestamp, std::string_view body);

}  // namespace latchkey::auth
