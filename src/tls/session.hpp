// TLS 1.3 and 1.2 as bytes to bytes over BoringSSL: no sockets, no clock. A `context` holds what all
// sessions of one worker share (certificate, ticket keys, one BIO); a `session` is one connection.
// A session belongs to its worker's thread; so does its context.
//
//     tls::session session(context);
//     session.handshake(ciphertext_in, ciphertext_out)   // until established
//     session.read(ciphertext_in, plain)                 // appends plaintext
//     session.write(plain, ciphertext_out)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tls/context.hpp"

namespace latchkey::tls {

enum class progress : std::uint8_t {
    done,        // handshake: established; read: everything was taken
    want_input,  // more bytes of the peer are needed
    waiting,     // an RSA signature is being made on the signing thread; call handshake again when told
    closed,      // the peer's close_notify; `out` may hold ours
    failed,      // a fatal alert was sent (in `out`) or received: flush `out` and close
};

class session {
  public:
    // `signed_` is woken once for every `waiting`; with an ECDSA certificate it may be null.
    session(context& shared, signature_waiter* signed_);
    ~session();
    session(session const&) = delete;
    session& operator=(session const&) = delete;

    // Takes from the front of `in` what it needs (removes it from the view), appends to `out`.
    progress handshake(std::string_view& in, std::string& out);
    // Appends what could be decrypted to `plain`, at most about `plain_max` bytes more than it had;
    // with input left it is to be called again. `out` gets what TLS itself must answer.
    progress read(std::string_view& in, std::string& plain, std::string& out, std::size_t plain_max);
    // Encrypts all of `plain`, records of at most 16 KiB.
    progress write(std::string_view plain, std::string& out);
    // Appends close_notify.
    void close(std::string& out);

    bool established() const;
    bool resumed() const;
    std::string_view protocol() const;  // "TLSv1.3"
    // Input bytes that were taken but do not make a whole record yet.
    std::size_t buffered() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace latchkey::tls
