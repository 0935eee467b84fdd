// Tokens of arbitrary content, against a second reading of them (reference_json.hpp) and the rules
// written once more. The first byte selects what the rest is:
//   even  a token; if it is accepted, its signature is verified again and its parts are read again
//   odd   a header and, behind a line feed, claims; they are signed, so that the rules decide
#include <openssl/base64.h>
#include <openssl/curve25519.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>

#include "reference_json.hpp"
#include "wire/jwt/verify.hpp"

namespace {

using namespace latchkey::jwt;
using value_type = reference_value::type;

constexpr std::int64_t now = 1'800'000'000;
constexpr std::int64_t leeway = 5;
constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void require(bool holds) {
    if (!holds) __builtin_trap();
}

std::uint8_t const* octets(std::string_view text) {
    return reinterpret_cast<std::uint8_t const*>(text.data());
}

// By BoringSSL's base64 and an exchange of two characters.
std::string encoded(std::string_view bytes) {
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
    text.resize(
        EVP_EncodeBlock(reinterpret_cast<std::uint8_t*>(text.data()), octets(bytes), bytes.size()));
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    text.resize(std::min(text.find('='), text.size()));
    return text;
}

std::optional<std::string> decoded(std::string text) {
    if (text.find_first_not_of(digits) != text.npos) return std::nullopt;
    std::ranges::replace(text, '-', '+');
    std::ranges::replace(text, '_', '/');
    text.append((4 - text.size() % 4) % 4, '=');
    std::string bytes(text.size(), '\0');
    std::size_t size = 0;
    if (EVP_DecodeBase64(reinterpret_cast<std::uint8_t*>(bytes.data()), &size, bytes.size(),
                         octets(text), text.size()) != 1)
        return std::nullopt;
    bytes.resize(size);
    return bytes;
}

struct fixture {
    std::array<std::uint8_t, 32> public_key{};
    std::array<std::uint8_t, 64> private_key{};
    issuer own;

    fixture() {
        std::array<std::uint8_t, 32> const seed{7};
        ED25519_keypair_from_seed(public_key.data(), private_key.data(), seed.data());
        std::string_view const x(reinterpret_cast<char const*>(public_key.data()), 32);
        auto const jwk =
            R"({"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":")" + encoded(x) + "\"}]}";
        own = {.name = "i",
               .audiences = {"a"},
               .algorithms = algorithm_set::all(),
               .leeway_seconds = leeway,
               .keys = read_key_set(jwk, algorithm_set::all()).keys};
    }
};

bool is_string(reference_value const* value) {
    return value != nullptr && value->is(value_type::string);
}

bool is_strict_object(std::optional<reference_value> const& value, std::size_t members_max) {
    return value && value->is(value_type::object) && !value->repeats_a_name() &&
           value->depth() <= 8 && value->member_count() <= members_max;
}

bool is_right_type(reference_value const* type) {
    if (type == nullptr) return true;
    if (!is_string(type)) return false;
    auto text = type->text;
    for (char& byte : text)
        if (byte >= 'A' && byte <= 'Z') byte += 32;
    return text == "jwt" || text == "at+jwt" || text == "application/jwt" ||
           text == "application/at+jwt";
}

bool is_right_header(reference_value const& header) {
    auto const *const name = header.find("alg"), *const id = header.find("kid");
    if (header.find("crit") != nullptr || header.find("b64") != nullptr ||
        header.find("zip") != nullptr)
        return false;
    if (!is_string(name) || name->text != "EdDSA") return false;
    if (id != nullptr && (!is_string(id) || id->text != "k")) return false;
    return is_right_type(header.find("typ"));
}

bool is_right_audience(reference_value const* audience) {
    if (audience == nullptr) return false;
    if (is_string(audience)) return audience->text == "a";
    bool only_strings = audience->is(value_type::array), own = false;
    for (auto const& each : audience->elements) {
        only_strings &= each.is(value_type::string);
        own |= each.text == "a";
    }
    return only_strings && own;
}

bool is_scope_list(std::string_view text, bool with_spaces) {
    for (char const byte : text)
        if (!(byte > ' ' && byte < 127 && byte != '"' && byte != '\\') &&
            !(with_spaces && byte == ' '))
            return false;
    return true;
}

bool are_right_scopes(reference_value const* scopes) {
    if (scopes == nullptr) return true;
    if (is_string(scopes)) return is_scope_list(scopes->text, true);
    bool right = scopes->is(value_type::array);
    for (auto const& each : scopes->elements)
        right &=
            each.is(value_type::string) && !each.text.empty() && is_scope_list(each.text, false);
    return right;
}

// Code points that are not printed, as base::hidden_point lists them.
bool is_right_subject(reference_value const* subject) {
    if (!is_string(subject) || subject->text.empty() || subject->text.size() > 255) return false;
    std::string_view const text = subject->text;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const byte = static_cast<unsigned char>(text[i]);
        if (byte < 0x20 || byte == 0x7f) return false;
        if (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) return false;
        for (std::string_view const hidden :
             {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b", "\u202c",
              "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"})
            if (text.substr(i).starts_with(hidden)) return false;
    }
    return true;
}

enum class verdict { accepted, invalid, expired, not_yet_valid, uncertain };

// A date as the nearest long double, which has 64 bits. Empty: it is none.
std::optional<long double> date_of(reference_value const* claim, long double missing) {
    if (claim == nullptr) return missing;
    if (!claim->is(value_type::number)) return std::nullopt;
    auto const value = std::strtold(claim->text.c_str(), nullptr);
    if (value < 0 || value > 253402300799.0L) return std::nullopt;
    return value;
}

bool is_long(reference_value const* claim) {
    return claim != nullptr && claim->text.size() > 18;
}

verdict verdict_of_dates(reference_value const& claims) {
    auto const *const exp = claims.find("exp"), *const nbf = claims.find("nbf"),
                      *const iat = claims.find("iat");
    if (is_long(exp) || is_long(nbf) || is_long(iat)) return verdict::uncertain;
    auto const end = date_of(exp, 0), begin = date_of(nbf, 0), issued_at = date_of(iat, 0);
    if (exp == nullptr || !end || !begin || !issued_at) return verdict::invalid;
    // `now` is any time of its second: the last of it for `exp`, the first for `nbf`.
    if (static_cast<std::int64_t>(*end) + leeway <= now) return verdict::expired;
    if (*begin - leeway > now) return verdict::not_yet_valid;
    if (*issued_at - leeway >= now + 1) return verdict::not_yet_valid;
    return verdict::accepted;
}

verdict verdict_of(std::string_view header_text, std::string_view claims_text) {
    auto const header = read_reference_json(header_text), claims = read_reference_json(claims_text);
    // Boost.JSON refuses some exponents beyond those of a double.
    if ((header && header->has_large_exponent()) || (claims && claims->has_large_exponent()))
        return verdict::uncertain;
    if (!is_strict_object(header, 64) || !is_right_header(*header)) return verdict::invalid;
    if (!is_strict_object(claims, 256)) return verdict::invalid;
    auto const* const name = claims->find("iss");
    if (!is_string(name) || name->text != "i") return verdict::invalid;
    if (!is_right_audience(claims->find("aud")) || !is_right_subject(claims->find("sub")) ||
        !are_right_scopes(claims->find("scope")))
        return verdict::invalid;
    return verdict_of_dates(*claims);
}

verdict verdict_from(verification const& verification) {
    if (verification) return verdict::accepted;
    require(!verification.error().detail.empty());
    switch (verification.error().reason) {
        case refusal_reason::expired:
            return verdict::expired;
        case refusal_reason::not_yet_valid:
            return verdict::not_yet_valid;
        case refusal_reason::invalid:
            break;
    }
    return verdict::invalid;
}

void check_result(verified_token const& token, fixture const& fixture) {
    require(token.signer == &fixture.own);
    require(!token.subject.empty() && token.subject.size() <= subject_bytes_max);
    require(token.refused_from == token.expires_at + leeway && token.refused_from > now);
    if (token.scopes)
        require(!token.scopes->starts_with(' ') && !token.scopes->ends_with(' ') &&
                token.scopes->find("  ") == token.scopes->npos);
}

void try_token(std::string const& token, fixture const& fixture) {
    auto const result = verify(token, {&fixture.own, 1}, now);
    if (!result) return;
    check_result(*result, fixture);
    require(looks_like_jwt(token));
    auto const first = token.find('.'), last = token.rfind('.');
    auto const header = decoded(token.substr(0, first)),
               claims = decoded(token.substr(first + 1, last - first - 1)),
               signature = decoded(token.substr(last + 1));
    require(header && claims && signature && signature->size() == 64);
    require(encoded(*header) + '.' + encoded(*claims) + '.' + encoded(*signature) == token);
    require(ED25519_verify(octets(token), last, octets(*signature), fixture.public_key.data()) ==
            1);
    auto const expected = verdict_of(*header, *claims);
    require(expected == verdict::accepted || expected == verdict::uncertain);
}

void try_parts(std::string_view header, std::string_view claims, fixture const& fixture) {
    auto const input = encoded(header) + '.' + encoded(claims);
    if (input.size() + 87 > token_bytes_max) return;
    auto const expected = verdict_of(header, claims);
    std::string signature(64, '\0');
    // An invalid token is refused with any signature, and making one takes most of the time.
    if (expected != verdict::invalid || header.size() % 8 == 0)
        ED25519_sign(reinterpret_cast<std::uint8_t*>(signature.data()), octets(input), input.size(),
                     fixture.private_key.data());
    auto const result = verify(input + '.' + encoded(signature), {&fixture.own, 1}, now);
    if (result) check_result(*result, fixture);
    require(expected == verdict::uncertain || verdict_from(result) == expected);
    if (expected != verdict::accepted) return;
    signature[header.size() % 64] = static_cast<char>(signature[header.size() % 64] ^ 4);
    require(!verify(input + '.' + encoded(signature), {&fixture.own, 1}, now));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static fixture const shared;
    if (size == 0) return 0;
    std::string_view const text(reinterpret_cast<char const*>(data) + 1, size - 1);
    if (data[0] % 2 == 0) {
        try_token(std::string(text), shared);
    } else {
        auto const end = std::min(text.find('\n'), text.size());
        try_parts(text.substr(0, end), text.substr(std::min(end + 1, text.size())), shared);
    }
    return 0;
}
