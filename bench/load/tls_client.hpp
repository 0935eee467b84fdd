// TLS of the load generator: bytes in, bytes out over BoringSSL, no certificate checked (it is our
// own server on loopback). One context per thread.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

namespace load {

class tls_context {
  public:
    // `version_max` 0x0304 or 0x0303.
    explicit tls_context(std::uint16_t version_max);
    SSL_CTX* native() const { return context_.get(); }

  private:
    bssl::UniquePtr<SSL_CTX> context_;
};

class tls_client {
  public:
    // `resume`: a session that an earlier connection left, or null.
    tls_client(tls_context const& context, SSL_SESSION* resume);

    // Feeds what came from the server; appends what it decrypts to `plain` and what must be sent to
    // `wire`. False: the connection is broken.
    bool receive(std::string_view bytes, std::string& plain, std::string& wire);
    // Begins the handshake (with no bytes), or encrypts; before the handshake is done it must be
    // empty.
    bool send(std::string_view plain, std::string& wire);
    bool ready() const { return SSL_is_init_finished(session_.get()) != 0; }
    bool resumed() const { return SSL_session_reused(session_.get()) != 0; }
    // The newest session that the server gave; null: none yet.
    bssl::UniquePtr<SSL_SESSION> take_session() { return std::move(ticket_); }

  private:
    friend class tls_context;
    void drain(std::string& wire);

    bssl::UniquePtr<SSL> session_;
    bssl::UniquePtr<SSL_SESSION> ticket_;
};

}  // namespace load
