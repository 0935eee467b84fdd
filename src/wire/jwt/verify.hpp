// Bearer tokens that issuers have signed: JSON Web Tokens (RFC 7519) as signed compact
// serialisations (RFC 7515 §7.1), judged by the best current practices of RFC 8725. Pure functions
// over text and time; any thread. Nothing that a token names is ever fetched.
//
//     if (jwt::looks_like_jwt(credential)) {
//         auto const verification = jwt::verify(credential, issuers, now.wall / 1000);
//         if (!verification) … verification.error().reason, .detail …
//         else … verification->signer->name, verification->subject …
//     }
//
// The issuer is chosen by the claim `iss`; no other claim is looked at before the signature was
// verified with a key of that issuer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "wire/jwt/algorithm.hpp"
#include "wire/jwt/jwt_limits.hpp"
#include "wire/jwt/key_set.hpp"

namespace latchkey::jwt {

// An issuer and the tokens that are accepted from it. Names of issuers must differ: of two equal
// ones the first counts.
struct issuer {
    std::string name;                    // equals the claim `iss`, byte by byte
    std::vector<std::string> audiences;  // `aud` must have one of them; none: all are refused
    algorithm_set algorithms;
    std::uint32_t leeway_seconds = 0;     // for clocks that differ, of exp, nbf and iat
    std::string subject_claim = "sub";    // "sub", "azp", "client_id"
    std::string scope_claim = "scope";    // "scope", "scp", "permissions"; empty: none is read
    std::optional<std::string> type;      // `typ` must be this, such as "at+jwt"
    std::shared_ptr<key_set const> keys;  // not null
};
// `typ` is compared without case and with or without "application/" (RFC 7515 §4.1.9). Where
// `issuer::type` is empty, it may be missing, "JWT" or "at+jwt"; anything else is a token for
// another purpose (RFC 8725 §3.11).

struct verified_token {
    issuer const* signer = nullptr;  // one of those that were passed
    std::string subject;             // 1 to subject_bytes_max bytes of printable UTF-8
    // The scope claim: words that single spaces separate (RFC 6749 §3.3), or the elements of an
    // array joined by them. Empty optional: the token has no such claim.
    std::optional<std::string> scopes;
    std::int64_t expires_at = 0;  // `exp` in seconds since 1970, rounded down
    // The first second at which `verify` refuses it: `expires_at` plus the leeway. A cached result
    // is valid before.
    std::int64_t refused_from = 0;
};

enum class refusal_reason : std::uint8_t {
    invalid,        // malformed, of an unknown issuer, for another audience, a wrong signature …
    expired,        // right, but its time is over
    not_yet_valid,  // right, but `nbf` or `iat` is in the future
};
struct refusal {
    refusal_reason reason = refusal_reason::invalid;
    std::string_view detail;  // a constant sentence, which repeats nothing of the token
};
[[noreturn]] void throw_exception_from_error(refusal const& failure, boost::source_location const&);

using verification = boost::system::result<verified_token, refusal>;

// Text that begins an object of JSON with a member in base64url, white space before it or not, as
// every JOSE header does (RFC 7515 §3): mostly `eyJ`. Reads three bytes, and the white space.
bool begins_as_jwt(std::string_view text);
// Three parts of base64url text, of which the first begins so. Reads no more
// than token_bytes_max + 1 bytes; a longer text is one if its beginning is. No key that the service
// makes is one (api.md §4), but an imported key can be.
bool looks_like_jwt(std::string_view text);

// `now` in seconds since 1970. For usual tokens it allocates what the result holds, and BoringSSL
// its numbers.
verification verify(std::string_view token, std::span<issuer const> issuers, std::int64_t now);

}  // namespace latchkey::jwt
