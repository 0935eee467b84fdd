// What the sessions of one worker share: certificate chain and key, protocol rules (TLS 1.3 and 1.2,
// forward secrecy only, ALPN http/1.1, no early data, no renegotiation), session ticket keys.
// `identity` and `ticket_keys` are immutable and shared by all workers; a reload makes new ones.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace latchkey::tls {

// A certificate chain and its private key, loaded and checked against each other.
class identity {
  public:
    // PEM files; ECDSA or RSA (2048 bits or more). Errors say which file and what is wrong with it.
    static base::result<std::shared_ptr<identity const>> load(std::string const& certificate_file,
                                                              std::string const& key_file);
    ~identity();
    bool rsa() const;
    std::string const& summary() const;  // subject, names and end of validity, for the operator
    struct state;
    state const& native() const { return *state_; }

  private:
    explicit identity(std::unique_ptr<state>);
    std::unique_ptr<state> state_;
};

// Writes a self-signed P-256 certificate (CA:FALSE is not set, so that clients can take it as
// their --cacert; names localhost, 127.0.0.1, ::1; ten years) and its key, both mode 0600, both
// complete or not there at all (written beside, synced, renamed).
base::result<void> make_self_signed(std::string const& certificate_file, std::string const& key_file);

// Session ticket keys (RFC 5077, RFC 8446 §4.6.1): random, in memory only. The newest one encrypts,
// the previous one still decrypts (and its ticket is renewed).
struct ticket_keys {
    struct key {
        std::array<unsigned char, 16> name;
        std::array<unsigned char, 32> secret;
    };
    key current, previous;
    // A fresh current key; the old current becomes previous.
    std::shared_ptr<ticket_keys const> rotated() const;
    static std::shared_ptr<ticket_keys const> make();
    ~ticket_keys();  // wipes
};

// Told, on the signing thread, that a handshake which answered `waiting` can go on; it hands that on
// to the session's own thread. Must live until it was told.
struct signature_waiter {
    void (*wake)(signature_waiter&) noexcept;
};

// One thread that makes RSA signatures, so that they (650 to 990 µs each) hold up no worker.
class signing_thread;

class context {
  public:
    // `signer` may be null: then RSA is signed on the calling thread.
    context(std::shared_ptr<identity const> who, std::shared_ptr<ticket_keys const> tickets,
            signing_thread* signer);
    ~context();
    context(context const&) = delete;
    context& operator=(context const&) = delete;

    // Between two calls on any session: from now on new tickets use these keys.
    void use(std::shared_ptr<ticket_keys const> tickets);

    struct state;
    state& native() { return *state_; }

  private:
    std::unique_ptr<state> state_;
};

}  // namespace latchkey::tls
