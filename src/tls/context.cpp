#include "tls/context.hpp"

#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "tls/native.hpp"

namespace latchkey::tls {

namespace {

constexpr std::string_view http_1_1 = "http/1.1";
constexpr std::string_view http_1_0 = "http/1.0";  // what curl offers when told to speak 1.0

// RFC 7301 §3.2: an offer without our protocol is refused with no_application_protocol; without an
// offer this is never called, and HTTP/1.1 is what is spoken.
int select_protocol(SSL*, std::uint8_t const** out, std::uint8_t* out_size, std::uint8_t const* in,
                    unsigned in_size, void*) {
    for (auto const spoken : {http_1_1, http_1_0}) {
        std::string_view offered(reinterpret_cast<char const*>(in), in_size);
        while (!offered.empty()) {
            auto const name = offered.substr(1, static_cast<unsigned char>(offered.front()));
            if (name == spoken) {
                *out = reinterpret_cast<std::uint8_t const*>(name.data());
                *out_size = static_cast<std::uint8_t>(name.size());
                return SSL_TLSEXT_ERR_OK;
            }
            offered.remove_prefix(1 + name.size());
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

constexpr std::size_t cipher_key_bytes = 32;
constexpr int mac_key_bytes = 32;

// Finds the key and readies cipher and MAC (SSL_CTX_set_tlsext_ticket_key_cb). Opening: 0 an
// unknown key, so a full handshake; 1 the current one; 2 the previous one, and a new ticket is due.
int ticket_key(SSL* ssl, std::uint8_t* name, std::uint8_t* iv, EVP_CIPHER_CTX* cipher,
               HMAC_CTX* mac, int sealing) {
    auto const* const shared =
        static_cast<context::state const*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    auto const& keys = *shared->tickets;
    auto const is = [&](ticket_keys::key const& key) {
        return std::memcmp(name, key.name.data(), key.name.size()) == 0;
    };
    int answer = 1;
    auto const* key = &keys.current;
    if (sealing == 1) {
        std::copy(key->name.begin(), key->name.end(), name);
        RAND_bytes(iv, EVP_CIPHER_iv_length(EVP_aes_256_cbc()));
    } else if (is(keys.previous)) {
        key = &keys.previous;
        answer = 2;
    } else if (!is(keys.current)) {
        return 0;
    }
    auto const* const secret = key->secret.data();
    if (EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, secret, iv, sealing) != 1) return -1;
    if (HMAC_Init_ex(mac, secret + cipher_key_bytes, mac_key_bytes, EVP_sha256(), nullptr) != 1)
        return -1;
    return answer;
}

// Forward secrecy and AEAD only, as all of TLS 1.3's own list. None is worse than another, so the
// client's order decides: one without AES instructions asks for ChaCha20.
constexpr char const* ciphers_of_1_2 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

// What we sign with: nothing that needs SHA-1. BoringSSL picks what suits the key and the client.
constexpr std::uint16_t signatures[] = {
    SSL_SIGN_ECDSA_SECP256R1_SHA256, SSL_SIGN_ECDSA_SECP384R1_SHA384, SSL_SIGN_RSA_PSS_RSAE_SHA256,
    SSL_SIGN_RSA_PKCS1_SHA256,       SSL_SIGN_RSA_PSS_RSAE_SHA384,    SSL_SIGN_RSA_PKCS1_SHA384,
    SSL_SIGN_RSA_PSS_RSAE_SHA512,    SSL_SIGN_RSA_PKCS1_SHA512};

// Sessions of another service that might share our certificate are none of ours.
constexpr std::string_view session_domain = "latchkey";

void wipe_key(ticket_keys::key& key) {
    base::wipe(&key, sizeof key);
}

void fill_key(ticket_keys::key& key) {
    RAND_bytes(key.name.data(), key.name.size());
    RAND_bytes(key.secret.data(), key.secret.size());
}

}  // namespace

bssl::UniquePtr<SSL_CTX> make_native_context(identity::state const& who, bool signs_elsewhere) {
    ERR_clear_error();
    bssl::UniquePtr<SSL_CTX> made(SSL_CTX_new(TLS_with_buffers_method()));
    if (made == nullptr) return nullptr;
    auto* const to = made.get();

    std::vector<CRYPTO_BUFFER*> chain;
    chain.reserve(who.chain.size());
    for (auto const& each : who.chain) chain.push_back(each.get());
    auto const* const method = signs_elsewhere ? &sign_elsewhere : nullptr;
    auto* const key = signs_elsewhere ? nullptr : who.key.get();
    auto const lifetime = static_cast<std::uint32_t>(ticket_lifetime.count());
    auto const* const domain = reinterpret_cast<std::uint8_t const*>(session_domain.data());

    SSL_CTX_set_early_data_enabled(to, 0);
    // Each connection brings its own, which is to be used once (RFC 8446 §C.4): a second costs 4 %
    // of a handshake and serves only who opens several at once.
    SSL_CTX_set_num_tickets(to, 1);
    SSL_CTX_set_session_cache_mode(to, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_timeout(to, lifetime);
    SSL_CTX_set_session_psk_dhe_timeout(to, lifetime);
    SSL_CTX_set_alpn_select_cb(to, select_protocol, nullptr);
    bool const set =
        SSL_CTX_set_min_proto_version(to, TLS1_2_VERSION) == 1 &&
        SSL_CTX_set_max_proto_version(to, TLS1_3_VERSION) == 1 &&
        SSL_CTX_set_strict_cipher_list(to, ciphers_of_1_2) == 1 &&
        SSL_CTX_set_signing_algorithm_prefs(to, signatures, std::size(signatures)) == 1 &&
        SSL_CTX_set_session_id_context(to, domain, session_domain.size()) == 1 &&
        SSL_CTX_set_tlsext_ticket_key_cb(to, ticket_key) == 1 &&
        SSL_CTX_set_chain_and_key(to, chain.data(), chain.size(), key, method) == 1;
    return set ? std::move(made) : nullptr;
}

std::string_view queued_reason() {
    char const* const name = ERR_reason_error_string(ERR_peek_error());
    return name != nullptr ? name : "UNKNOWN";
}

context::context(std::shared_ptr<identity const> who, std::shared_ptr<ticket_keys const> tickets,
                 signing_thread* signer)
    : state_(std::make_shared<state>()) {
    base::check(who != nullptr && tickets != nullptr, "a TLS context without identity or tickets");
    auto& to = *state_;
    to.native = make_native_context(who->native(), who->rsa() && signer != nullptr);
    base::check(to.native != nullptr, "a TLS context refused a checked identity");
    to.who = std::move(who);
    to.tickets = std::move(tickets);
    to.signer = signer;
    to.bio = make_wire_bio(to.bound);
    SSL_CTX_set_app_data(to.native.get(), &to);
}

context::~context() = default;

void context::use(std::shared_ptr<ticket_keys const> tickets) {
    base::check(tickets != nullptr, "a TLS context without ticket keys");
    state_->tickets = std::move(tickets);
}

std::shared_ptr<ticket_keys const> ticket_keys::make() {
    auto made = std::make_shared<ticket_keys>();
    fill_key(made->current);
    fill_key(made->previous);
    return made;
}

std::shared_ptr<ticket_keys const> ticket_keys::rotated() const {
    auto made = std::make_shared<ticket_keys>();
    fill_key(made->current);
    made->previous = current;
    return made;
}

ticket_keys::~ticket_keys() {
    wipe_key(current);
    wipe_key(previous);
}

}  // namespace latchkey::tls
