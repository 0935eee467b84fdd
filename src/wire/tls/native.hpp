// The BoringSSL objects behind `identity` and `context`. Private to the layer.
#pragma once

#include <openssl/base.h>
#include <openssl/evp.h>
#include <openssl/pool.h>
#include <openssl/ssl.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "wire/tls/wire.hpp"

namespace latchkey::tls {

class identity;
class signing_thread;
struct ticket_keys;

struct native_identity {
    std::vector<bssl::UniquePtr<CRYPTO_BUFFER>> chain;
    bssl::UniquePtr<EVP_PKEY> key;
    std::string summary;
    base::wall_ms valid_until = 0;

    bool rsa() const { return EVP_PKEY_id(key.get()) == EVP_PKEY_RSA; }
};

struct native_context {
    static constexpr std::size_t record_bytes_max = std::size_t{16} * 1024;

    std::shared_ptr<identity const> certificate;
    std::shared_ptr<ticket_keys const> tickets;
    signing_thread* signer = nullptr;
    bool offers_http2 = false;
    wire_buffers buffers;
    bssl::UniquePtr<BIO> bio;
    bssl::UniquePtr<SSL_CTX> ssl;
    std::array<char, record_bytes_max> scratch;
};

inline constexpr std::string_view alpn_http2 = "h2";

// A context with all rules and this chain, or null with BoringSSL's error queued. With
// `signs_elsewhere` signatures are made by the session's signing thread.
bssl::UniquePtr<SSL_CTX> make_ssl_context(native_identity const& identity, bool signs_elsewhere);

// The signature callbacks of sessions, in session.cpp.
extern SSL_PRIVATE_KEY_METHOD const sign_elsewhere;

// The name of the oldest queued error ("NO_SHARED_CIPHER"), a static string.
std::string_view queued_reason();

}  // namespace latchkey::tls
