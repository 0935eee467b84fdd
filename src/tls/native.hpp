// The parts of the layer that know BoringSSL; not for other layers.
#pragma once

#include <openssl/base.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pool.h>
#include <openssl/ssl.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tls/context.hpp"

namespace latchkey::tls {

struct identity::state {
    std::vector<bssl::UniquePtr<CRYPTO_BUFFER>> chain;
    bssl::UniquePtr<EVP_PKEY> key;
    std::string summary;
    base::wall_ms valid_until = 0;

    bool rsa() const { return EVP_PKEY_id(key.get()) == EVP_PKEY_RSA; }
};

// Follows the record that BoringSSL is reading (RFC 8446 §5.1: five bytes of header, the last two
// of them the length of the rest).
class record_meter {
  public:
    // `to`: where BoringSSL wants them.
    void took(std::string_view bytes, char* to);
    // The bytes taken of a record that is not complete.
    std::size_t partial() const { return have_; }
    // Overwrites the last record, header excepted, where BoringSSL keeps it, which decrypts it in
    // place and frees it without a wipe. Only while BoringSSL still has some of it to give.
    void wipe_record();

  private:
    static constexpr std::size_t header_bytes = 5;

    std::array<unsigned char, header_bytes> header_{};
    std::uint32_t have_ = 0;
    std::uint32_t left_ = 0;
    char* body_ = nullptr;
    std::uint32_t body_bytes_ = 0;
};

// What the shared BIO reads and writes during one call on one session.
struct wire {
    std::string_view* in = nullptr;
    std::string* out = nullptr;
    record_meter* meter = nullptr;
};

// BoringSSL reads from a BIO exactly one record's header, then exactly its body, so nothing beyond
// the current record is ever taken from the input.
bssl::UniquePtr<BIO> make_wire_bio(wire& bound);

struct context::state {
    static constexpr std::size_t record_bytes_max = std::size_t{16} * 1024;

    std::shared_ptr<identity const> who;
    std::shared_ptr<ticket_keys const> tickets;
    signing_thread* signer = nullptr;
    wire bound;
    bssl::UniquePtr<BIO> bio;
    bssl::UniquePtr<SSL_CTX> native;
    std::array<char, record_bytes_max> scratch;
};

// A context with all rules set and this chain, or null with BoringSSL's error queued. With
// `signs_elsewhere` signatures go to the session's signing thread.
bssl::UniquePtr<SSL_CTX> make_native_context(identity::state const& who, bool signs_elsewhere);

// The signature hooks of sessions, in session.cpp.
extern SSL_PRIVATE_KEY_METHOD const sign_elsewhere;

// The name of the oldest queued error ("NO_SHARED_CIPHER"), a static string.
std::string_view queued_reason();

}  // namespace latchkey::tls
