// BoringSSL as a client in memory, and functions that connect it to a session.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/tls/session.hpp"

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

    // One step; true when the handshake is done. `failure` has the error.
    bool handshake();
    void feed(std::string_view bytes);
    std::string take();  // its output

    void write(std::string_view plain);
    std::string read();  // all available plaintext
    void close() { SSL_shutdown(ssl()); }
    bool received_close_notify() const { return closed_; }

    SSL* ssl() const { return ssl_.get(); }
    bool resumed() const { return SSL_session_reused(ssl()) == 1; }
    std::string const& failure() const { return failure_; }
    // The last ticket received.
    bssl::UniquePtr<SSL_SESSION> const& ticket() const { return ticket_; }
    int tickets() const { return tickets_; }

  private:
    void record_result(int result);

    bssl::UniquePtr<SSL_CTX> context_;
    bssl::UniquePtr<SSL> ssl_;
    bssl::UniquePtr<SSL_SESSION> ticket_;
    int tickets_ = 0;
    bool closed_ = false;
    std::string failure_;
};

// Steps both sides until both are done, or one has failed or waits; returns the server's last
// result. Unless `piece` is 0, the server gets its input in pieces of that size.
progress run_handshake(client& peer, session& server, std::size_t piece = 0);

// The server reads the client's output.
progress receive_client_data(client& peer, session& server, std::string& plain,
                             std::size_t piece = 0);

// The server sends plaintext; returns what the client read.
std::string send_server_data(client& peer, session& server, std::string_view plain);

}  // namespace latchkey::tls::testing
