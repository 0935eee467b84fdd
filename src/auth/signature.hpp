// Signatures of external events (api.md §12): HMAC-SHA-256 (RFC 2104) over the body exactly as
// received, in the three formats of the contract. Pure functions; any thread.
//
//   standard  Standard Webhooks (standardwebhooks.com): `webhook-signature` is a list of `v1,` and
//             base64, separated by spaces, over `webhook-id.webhook-timestamp.body`; the key is
//             what the base64 behind `whsec_` decodes to
//   github    `X-Hub-Signature-256: sha256=` and hexadecimal, over the body; the key is the secret
//   stripe    `Stripe-Signature: t=…,v1=…`, hexadecimal, over `t.body`; the key is the whole secret
//
//     auto const verdict = auth::verify_signature(format, secret, request, now);
//     if (!verdict.valid) … verdict.detail is a sentence for the sender …
//
// A missing, repeated or malformed field and a timestamp more than 300 seconds away are refused
// before anything is computed. MACs are compared in constant time. Only the detail "does not fit"
// depends on the secret.
#pragma once

#include <array>
#include <string_view>

#include "base/clock.hpp"
#include "base/secret.hpp"
#include "model/event.hpp"

namespace latchkey::auth {

// A received field: how often it occurs, and the value of the first.
struct signed_field {
    std::size_t count = 0;
    std::string_view value;
};
struct signed_request {
    signed_field webhook_id, webhook_timestamp, webhook_signature;
    signed_field hub_signature, hub_delivery;
    signed_field stripe_signature;
    std::string_view body;
};

using hmac_digest = std::array<unsigned char, 32>;
struct signature_verdict {
    bool valid = false;
    std::string_view detail;  // the reason if invalid; a constant
    hmac_digest mac{};        // if valid
};
signature_verdict verify_signature(model::event_format format, base::secret const& secret,
                                   signed_request const& request, base::wall_ms now);

// The fault of a supplied secret, as the end of a sentence; empty: it is valid. Standard: base64 of
// 24 to 64 bytes, with or without `whsec_`. GitHub: 8 to 255 bytes without control characters.
// Stripe: 8 to 255 visible ASCII characters.
std::string_view secret_fault(model::event_format format, std::string_view secret);

// From 32 bytes of the OS's random source: `whsec_` and their base64 (standard), 64 hexadecimal
// digits (GitHub), or `whsec_` and those (Stripe).
base::secret make_event_secret(model::event_format format);

inline constexpr std::int64_t signature_tolerance_seconds = 300;

}  // namespace latchkey::auth
