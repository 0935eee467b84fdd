#include "wire/tls/native.hpp"

#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>

#include "wire/tls/ticket_keys.hpp"

namespace latchkey::tls {

namespace {

constexpr std::string_view http_1_1 = "http/1.1";
constexpr std::string_view http_1_0 = "http/1.0";  // the only offer of curl --http1.0

native_context const& context_of(SSL* ssl) {
    return *static_cast<native_context const*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

// RFC 7301 §3.2: the server's order decides, and an offer without our protocols is refused with
// no_application_protocol. Without an offer this is not called, and the protocol is HTTP/1.1.
int select_protocol(SSL* ssl, std::uint8_t const** output, std::uint8_t* output_size,
                    std::uint8_t const* input, unsigned input_size, void*) {
    for (auto const protocol : {alpn_http2, http_1_1, http_1_0}) {
        if (protocol == alpn_http2 && !context_of(ssl).offers_http2) continue;
        std::string_view offered(reinterpret_cast<char const*>(input), input_size);
        while (!offered.empty()) {
            auto const name = offered.substr(1, static_cast<unsigned char>(offered.front()));
            if (name == protocol) {
                *output = reinterpret_cast<std::uint8_t const*>(name.data());
                *output_size = static_cast<std::uint8_t>(name.size());
                return SSL_TLSEXT_ERR_OK;
            }
            offered.remove_prefix(1 + name.size());
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// RFC 8446 App. D.5: a hello whose legacy_version is SSL 3.0 is refused with protocol_version,
// whatever supported_versions offers. BoringSSL does not check that field.
ssl_select_cert_result_t check_hello(SSL_CLIENT_HELLO const* hello) {
    if (hello->version > SSL3_VERSION) [[likely]]
        return ssl_select_cert_success;
    SSL_send_fatal_alert(hello->ssl, SSL_AD_PROTOCOL_VERSION);
    return ssl_select_cert_error;  // sends no second alert
}

constexpr std::size_t cipher_key_bytes = 32;
constexpr int mac_key_bytes = 32;

// Selects the ticket key and initialises cipher and MAC (SSL_CTX_set_tlsext_ticket_key_cb). When
// decrypting: 0 unknown key, full handshake; 1 current key; 2 previous key, renew the ticket.
int ticket_key(SSL* ssl, std::uint8_t* name, std::uint8_t* iv, EVP_CIPHER_CTX* cipher,
               HMAC_CTX* mac, int sealing) {
    auto const& keys = *context_of(ssl).tickets;
    auto const has_name = [&](ticket_keys::key const& key) {
        return std::memcmp(name, key.name.data(), key.name.size()) == 0;
    };
    int result = 1;
    auto const* key = &keys.current;
    if (sealing == 1) {
        std::copy(key->name.begin(), key->name.end(), name);
        RAND_bytes(iv, EVP_CIPHER_iv_length(EVP_aes_256_cbc()));
    } else if (has_name(keys.previous)) {
        key = &keys.previous;
        result = 2;
    } else if (!has_name(keys.current)) {
        return 0;
    }
    auto const* const secret = key->secret.data();
    if (EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, secret, iv, sealing) != 1) return -1;
    if (HMAC_Init_ex(mac, secret + cipher_key_bytes, mac_key_bytes, EVP_sha256(), nullptr) != 1)
        return -1;
    return result;
}

// Forward secrecy and AEAD only, like all of TLS 1.3's own list. All are equally good, so the
// client's order decides: one without AES instructions prefers ChaCha20.
constexpr char const* ciphers_of_1_2 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

// Signature algorithms, none with SHA-1. BoringSSL selects one that fits the key and the client.
constexpr std::uint16_t signatures[] = {
    SSL_SIGN_ECDSA_SECP256R1_SHA256, SSL_SIGN_ECDSA_SECP384R1_SHA384, SSL_SIGN_RSA_PSS_RSAE_SHA256,
    SSL_SIGN_RSA_PKCS1_SHA256,       SSL_SIGN_RSA_PSS_RSAE_SHA384,    SSL_SIGN_RSA_PKCS1_SHA384,
    SSL_SIGN_RSA_PSS_RSAE_SHA512,    SSL_SIGN_RSA_PKCS1_SHA512};

// Separates our sessions from those of another service with the same certificate.
constexpr std::string_view session_domain = "latchkey";

}  // namespace

bssl::UniquePtr<SSL_CTX> make_ssl_context(native_identity const& identity, bool signs_elsewhere) {
    ERR_clear_error();
    bssl::UniquePtr<SSL_CTX> context(SSL_CTX_new(TLS_with_buffers_method()));
    if (context == nullptr) return nullptr;
    auto* const target = context.get();

    std::vector<CRYPTO_BUFFER*> chain;
    chain.reserve(identity.chain.size());
    for (auto const& each : identity.chain) chain.push_back(each.get());
    auto const* const method = signs_elsewhere ? &sign_elsewhere : nullptr;
    auto* const key = signs_elsewhere ? nullptr : identity.key.get();
    auto const lifetime = static_cast<std::uint32_t>(ticket_lifetime.count());
    auto const* const domain = reinterpret_cast<std::uint8_t const*>(session_domain.data());

    SSL_CTX_set_early_data_enabled(target, 0);
    // One ticket, to be used once (RFC 8446 §C.4). A second would cost 4 % of a handshake and serve
    // only clients that open several connections at once.
    SSL_CTX_set_num_tickets(target, 1);
    SSL_CTX_set_session_cache_mode(target, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_timeout(target, lifetime);
    SSL_CTX_set_session_psk_dhe_timeout(target, lifetime);
    SSL_CTX_set_select_certificate_cb(target, check_hello);
    SSL_CTX_set_alpn_select_cb(target, select_protocol, nullptr);
    bool const set =
        SSL_CTX_set_min_proto_version(target, TLS1_2_VERSION) == 1 &&
        SSL_CTX_set_max_proto_version(target, TLS1_3_VERSION) == 1 &&
        SSL_CTX_set_strict_cipher_list(target, ciphers_of_1_2) == 1 &&
        SSL_CTX_set_signing_algorithm_prefs(target, signatures, std::size(signatures)) == 1 &&
        SSL_CTX_set_session_id_context(target, domain, session_domain.size()) == 1 &&
        SSL_CTX_set_tlsext_ticket_key_cb(target, ticket_key) == 1 &&
        SSL_CTX_set_chain_and_key(target, chain.data(), chain.size(), key, method) == 1;
    return set ? std::move(context) : nullptr;
}

std::string_view queued_reason() {
    char const* const name = ERR_reason_error_string(ERR_peek_error());
    return name != nullptr ? name : "UNKNOWN";
}

}  // namespace latchkey::tls
