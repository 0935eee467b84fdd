// TLS client over BoringSSL, bytes in, bytes out. Does not verify certificates: the server runs on
// loopback. One context per thread.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

namespace load {

class tls_context {
  public:
    // `version_max` 0x0304 or 0x0303; `http2`: only h2 is offered by ALPN (RFC 7301), else nothing.
    tls_context(std::uint16_t version_max, bool http2);
    SSL_CTX* native() const { return context_.get(); }

  private:
    bssl::UniquePtr<SSL_CTX> context_;
};

class tls_client {
  public:
    // `resume`: a session of an earlier connection, or null.
    tls_client(tls_context const& context, SSL_SESSION* resume);

    // Processes bytes of the server: appends plaintext to `plain` and bytes to send to `wire`.
    // False: the connection is broken.
    bool receive(std::string_view bytes, std::string& plain, std::string& wire);
    // Encrypts `plain`; before the end of the handshake `plain` must be empty, and the first call
    // starts it.
    bool send(std::string_view plain, std::string& wire);
    bool ready() const { return SSL_is_init_finished(session_.get()) != 0; }
    // What the server chose by ALPN; empty: nothing.
    std::string_view protocol() const;
    bool resumed() const { return SSL_session_reused(session_.get()) != 0; }
    // The last session ticket of the server; null: none yet.
    bssl::UniquePtr<SSL_SESSION> take_session() { return std::move(ticket_); }

  private:
    friend class tls_context;
    void drain(std::string& wire);

    bssl::UniquePtr<SSL> session_;
    bssl::UniquePtr<SSL_SESSION> ticket_;
};

}  // namespace load
