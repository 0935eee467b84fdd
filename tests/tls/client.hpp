// The other side of a session in tests: BoringSSL as a client, in memory, and the two joined.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tls/session.hpp"

namespace latchkey::tls::testing {

struct client_options {
    std::uint16_t oldest = TLS1_2_VERSION;
    std::uint16_t newest = TLS1_3_VERSION;
    char const* ciphers = nullptr;  // of TLS 1.2
    std::string_view alpn = {};     // wire format: lengths and names
};

class client {
  public:
    // Offers `resume` when it is not null.
    explicit client(client_options const& options = {}, SSL_SESSION* resume = nullptr);

    // One step; true when the handshake is done. `failure` says what went wrong.
    bool handshake();
    void feed(std::string_view bytes);
    std::string take();  // what it wants sent

    void write(std::string_view plain);
    std::string read();  // all there is
    void close() { SSL_shutdown(ssl()); }
    bool got_close_notify() const { return closed_; }

    SSL* ssl() const { return ssl_.get(); }
    bool resumed() const { return SSL_session_reused(ssl()) == 1; }
    std::string const& failure() const { return failure_; }
    // The newest ticket that came.
    bssl::UniquePtr<SSL_SESSION> const& ticket() const { return ticket_; }
    int tickets() const { return tickets_; }

  private:
    void note(int result);

    bssl::UniquePtr<SSL_CTX> context_;
    bssl::UniquePtr<SSL> ssl_;
    bssl::UniquePtr<SSL_SESSION> ticket_;
    int tickets_ = 0;
    bool closed_ = false;
    std::string failure_;
};

// Steps both sides until both are done or one has failed or waits; gives the server's last answer.
// With `piece` not zero the server gets its input in pieces of that size.
progress join(client& peer, session& server, std::size_t piece = 0);

// The client's bytes so far, read by the server.
progress deliver(client& peer, session& server, std::string& plain, std::size_t piece = 0);

// The server's plaintext to the client; gives what the client read.
std::string answer(client& peer, session& server, std::string_view plain);

}  // namespace latchkey::tls::testing
