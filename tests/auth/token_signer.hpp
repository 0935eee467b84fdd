// Makes JWTs that one issuer signs with Ed25519 (RFC 8037), and the JWKS of its key, for tests.
#pragma once

#include <openssl/curve25519.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "auth/bearer_issuers.hpp"
#include "base/check.hpp"

namespace latchkey::auth {

inline std::string base64url_of(std::string_view bytes) {
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string text;
    unsigned bits = 0, count = 0;
    for (unsigned char const byte : bytes) {
        bits = bits << 8 | byte;
        for (count += 8; count >= 6; count -= 6) text += letters[bits >> (count - 6) & 63u];
        bits &= 0xffu;
    }
    if (count != 0) text += letters[bits << (6 - count) & 63u];
    return text;
}

class token_signer {
  public:
    explicit token_signer(std::string key_id = "1", std::string issuer = "https://id.example.com")
        : key_id_(std::move(key_id)), issuer_(std::move(issuer)) {
        ED25519_keypair(public_.data(), private_.data());
    }

    std::string const& issuer() const { return issuer_; }
    std::string jwks() const {
        std::string_view const key(reinterpret_cast<char const*>(public_.data()), public_.size());
        return R"({"keys":[{"kty":"OKP","crv":"Ed25519","kid":")" + key_id_ + R"(","x":")" +
               base64url_of(key) + R"("}]})";
    }
    // The claims beside `iss` and `aud`, as members of an object. `after_brace`: white space of the
    // header.
    std::string sign(std::string_view claims, std::string_view after_brace = {}) const {
        return sign_for(R"("latchkey")", claims, after_brace);
    }
    // `audience`: as JSON.
    std::string sign_for(std::string_view audience, std::string_view claims,
                         std::string_view after_brace = {}) const {
        auto const header =
            '{' + std::string(after_brace) + R"("alg":"EdDSA","kid":")" + key_id_ + R"("})";
        auto const payload = R"({"iss":")" + issuer_ + R"(","aud":)" + std::string(audience) + ',' +
                             std::string(claims) + '}';
        auto text = base64url_of(header) + "." + base64url_of(payload);
        std::array<char, ED25519_SIGNATURE_LEN> signature;
        auto const bytes = [](auto* data) { return reinterpret_cast<std::uint8_t const*>(data); };
        base::check(ED25519_sign(reinterpret_cast<std::uint8_t*>(signature.data()),
                                 bytes(text.data()), text.size(), private_.data()) == 1,
                    "a token that cannot be signed");
        return text + "." + base64url_of({signature.data(), signature.size()});
    }
    jwt::issuer accepted() const {
        jwt::issuer result;
        result.name = issuer_;
        result.audiences = {"latchkey"};
        result.algorithms = {jwt::algorithm::eddsa};
        result.keys = jwt::read_key_set(jwks(), result.algorithms).keys;
        base::check(result.keys != nullptr, "a JWKS that cannot be read");
        return result;
    }
    std::shared_ptr<bearer_issuers const> issuers() const {
        auto result = std::make_shared<bearer_issuers>();
        result->current.push_back(accepted());
        result->documents.push_back(jwks());
        return result;
    }

  private:
    std::string key_id_, issuer_;
    std::array<std::uint8_t, ED25519_PUBLIC_KEY_LEN> public_{};
    std::array<std::uint8_t, ED25519_PRIVATE_KEY_LEN> private_{};
};

// The record of a subject of that issuer, to be added under `bearer_text`.
inline model::key record_for(token_signer const& signer, std::string subject,
                             model::key record = {}) {
    record.kind = model::key_kind::jwt;
    record.issuer = signer.issuer();
    record.subject = std::move(subject);
    return record;
}
inline std::string bearer_text(model::key const& record) {
    return model::bearer_identity(record.issuer, record.subject);
}

}  // namespace latchkey::auth
