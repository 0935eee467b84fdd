// The claims are parsed before the signature is verified, since they name the issuer whose keys are
// used, but nothing else is read from them until it was. The form of a token is recognised by
// decoding base64url only as far as the first name of its header.
#include "wire/jwt/verify.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/visible.hpp"
#include "wire/jwt/base64url.hpp"
#include "wire/jwt/json_object.hpp"
#include "wire/jwt/jws.hpp"
#include "wire/jwt/numeric_date.hpp"

namespace latchkey::jwt {
namespace {

refusal invalid(std::string_view detail) {
    return {refusal_reason::invalid, detail};
}

static_assert(json_depth_max == 8 && claims_members_max == 256);

std::string_view claims_detail(json_fault fault) {
    switch (fault) {
        case json_fault::depth:
            return "The claims are nested deeper than 8 levels.";
        case json_fault::excess:
            return "There are more than 256 claims, nested members included.";
        case json_fault::repetition:
            return "Two claims, or members of one, have the same name.";
        default:
            return "The claims are not a JSON object.";
    }
}

issuer const* find_issuer(json_object const& claims, std::span<issuer const> issuers) {
    auto const* const name = claims.find("iss");
    if (name == nullptr || name->kind != json_kind::string) return nullptr;
    auto const place = std::ranges::find(issuers, name->text, &issuer::name);
    return place == issuers.end() ? nullptr : &*place;
}

bool has_right_type(compact_jws const& jws, issuer const& signer) {
    if (signer.type) return jws.is_of_type(*signer.type);
    return !jws.has_type() || jws.is_of_type("JWT") || jws.is_of_type("at+jwt");
}

bool names_audience(json_object const& claims, issuer const& signer) {
    auto const is_own = [&](std::string_view audience) {
        return std::ranges::find(signer.audiences, audience) != signer.audiences.end();
    };
    auto const* const audience = claims.find("aud");
    if (audience == nullptr) return false;
    if (audience->kind == json_kind::string) return is_own(audience->text);
    return audience->kind == json_kind::strings &&
           std::ranges::any_of(claims.strings(*audience), is_own);
}

// scope-token of RFC 6749 §3.3.
bool is_scope_character(char byte) {
    return byte > ' ' && byte < '\x7f' && byte != '"' && byte != '\\';
}

bool append_scope(std::string& scopes, std::string_view scope) {
    if (scope.empty() || !std::ranges::all_of(scope, is_scope_character)) return false;
    if (!scopes.empty()) scopes.push_back(' ');
    scopes.append(scope);
    return true;
}

bool append_scopes(std::string& scopes, std::string_view list) {
    while (!list.empty()) {
        auto const end = std::min(list.find(' '), list.size());
        if (end > 0 && !append_scope(scopes, list.substr(0, end))) return false;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return true;
}

bool read_scopes(json_object const& claims, json_member const& claim, std::string& scopes) {
    if (claim.kind == json_kind::string) return append_scopes(scopes, claim.text);
    return claim.kind == json_kind::strings &&
           std::ranges::all_of(claims.strings(claim),
                               [&](std::string_view scope) { return append_scope(scopes, scope); });
}

// Null: the token narrows no scopes.
json_member const* find_scopes(json_object const& claims, issuer const& signer) {
    return signer.scope_claim.empty() ? nullptr : claims.find(signer.scope_claim);
}

// The dates of a token; missing ones are judged as if they lay in the past.
struct lifetime {
    numeric_date expires_at, not_before, issued_at;
};

// Empty, or a sentence.
std::string_view read_lifetime(json_object const& claims, lifetime& dates) {
    auto const read = [&](std::string_view name, numeric_date& date) {
        auto const* const claim = claims.find(name);
        if (claim == nullptr) return true;
        if (claim->kind != json_kind::number) return false;
        auto const value = read_numeric_date(claim->text);
        date = value.value_or(numeric_date());
        return value.has_value();
    };
    if (claims.find("exp") == nullptr) return "The token has no claim exp.";
    if (!read("exp", dates.expires_at)) return "The claim exp is not a date before the year 10000.";
    if (!read("nbf", dates.not_before)) return "The claim nbf is not a date before the year 10000.";
    if (!read("iat", dates.issued_at)) return "The claim iat is not a date before the year 10000.";
    return {};
}

// `now` is a second that has begun, so dates within a second are rounded: exp down and nbf up, for
// a token must not be accepted outside; iat down, for it may have been issued in this second.
verification judge(verified_token token, lifetime const& dates, std::int64_t now) {
    std::int64_t const leeway = token.signer->leeway_seconds;
    token.expires_at = dates.expires_at.seconds;
    token.refused_from = token.expires_at + leeway;
    if (now >= token.refused_from)
        return refusal{refusal_reason::expired, "The token has expired."};
    if (dates.not_before.rounded_up() - leeway > now)
        return refusal{refusal_reason::not_yet_valid, "The token is not valid yet (claim nbf)."};
    if (dates.issued_at.seconds - leeway > now)
        return refusal{refusal_reason::not_yet_valid,
                       "The token was issued in the future (claim iat)."};
    return token;
}

// RFC 7800: only who proves that it has the key of the claim may show such a token, and here nobody
// is asked for that proof (RFC 8705 §3, RFC 9449 §7).
constexpr std::string_view is_bound =
    "The token is bound to a key of its bearer (claim cnf), and no proof of it is read.";

// Reads the claims of a token whose signature was verified.
verification read_claims(json_object const& claims, issuer const& signer, std::int64_t now) {
    if (!names_audience(claims, signer)) return invalid("The token is for another audience.");
    if (claims.find("cnf") != nullptr) return invalid(is_bound);
    lifetime dates;
    if (auto const fault = read_lifetime(claims, dates); !fault.empty()) return invalid(fault);
    verified_token token{.signer = &signer};
    auto const* const subject = claims.find(signer.subject_claim);
    if (subject == nullptr || subject->kind != json_kind::string || subject->text.empty() ||
        subject->text.size() > subject_bytes_max || !base::is_visible(subject->text))
        return invalid("The claim of the subject is not a string of 1 to 255 printable bytes.");
    token.subject = subject->text;
    if (auto const* const claim = find_scopes(claims, signer)) {
        token.scopes.emplace();
        if (!read_scopes(claims, *claim, *token.scopes))
            return invalid("The claim of the scopes is neither a string nor an array of scopes.");
    }
    return judge(std::move(token), dates, now);
}

}  // namespace

void throw_exception_from_error(refusal const& failure, boost::source_location const&) {
    throw std::runtime_error(std::string(failure.detail));
}

bool begins_as_jwt(std::string_view text) {
    bool is_inside = false;  // behind '{'
    unsigned bits = 0, count = 0;
    for (char const each : text) {
        auto const value = base64url_value(each);
        if (value > 63) return false;
        bits = bits << 6 | value;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        auto const byte = static_cast<char>(bits >> count & 0xff);
        bool const is_space = byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
        if (is_inside) return is_space || byte == '"';
        is_inside = byte == '{';
        if (!is_inside && !is_space) return false;
    }
    return false;
}

bool looks_like_jwt(std::string_view text) {
    if (!begins_as_jwt(text)) return false;
    std::size_t dots = 0;
    char previous = '.';
    for (char const each : text.substr(0, token_bytes_max + 1)) {
        if (each == '.') {
            if (previous == '.' || ++dots > 2) return false;
        } else if (!is_base64url(each)) {
            return false;
        }
        previous = each;
    }
    return dots == 2 || text.size() > token_bytes_max;
}

verification verify(std::string_view token, std::span<issuer const> issuers, std::int64_t now) {
    compact_jws jws;
    if (auto const fault = jws.read(token); !fault.empty()) return invalid(fault);
    json_object claims(claims_members_max);
    if (auto const fault = claims.read(jws.payload()); fault != json_fault::none)
        return invalid(claims_detail(fault));
    auto const* const signer = find_issuer(claims, issuers);
    if (signer == nullptr) return invalid("The token is not of an issuer that is accepted.");
    if (!has_right_type(jws, *signer))
        return invalid("The token's typ is not that of tokens which are accepted.");
    if (auto const fault = jws.verify(*signer->keys, signer->algorithms); !fault.empty())
        return invalid(fault);
    return read_claims(claims, *signer, now);
}

}  // namespace latchkey::jwt
