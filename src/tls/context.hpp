// What the sessions of one worker share: certificate chain and key, protocol rules (TLS 1.3
// and 1.2, forward secrecy only, ALPN http/1.1, no early data, no renegotiation), session ticket
// keys. `identity` and `ticket_keys` are immutable and shared by all workers; a reload makes new
// ones.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "tls/signing.hpp"

namespace latchkey::tls {

// A certificate chain and its private key, loaded and checked against each other: what was loaded
// is known to work in a context. Any thread; blocks on the files and reads the wall clock.
class identity {
  public:
    // PEM files, the chain from the leaf upwards; ECDSA (P-256, P-384) or RSA (2048 bits or more),
    // the key not encrypted. Errors say which file and what is wrong with it. A certificate that is
    // expired or not valid yet is loaded all the same, and `summary` says so.
    static base::result<std::shared_ptr<identity const>> load(std::string const& certificate_file,
                                                              std::string const& key_file);
    ~identity();
    identity(identity const&) = delete;
    identity& operator=(identity const&) = delete;

    bool rsa() const;
    std::string const& summary() const;  // subject, names and end of validity, for the operator
    base::wall_ms valid_until() const;   // of the leaf
    struct state;
    state const& native() const { return *state_; }

  private:
    explicit identity(std::unique_ptr<state>);
    std::unique_ptr<state> state_;
};

// Writes a self-signed P-256 certificate (no basicConstraints, so that clients take it both as
// their
// --cacert and as a server's; names localhost, 127.0.0.1, ::1; ten years) and its key, both mode
// 0600, each complete or not there at all (written beside, synced, renamed; the key first). What is
// there under these names is replaced. The folders must exist.
base::result<void> make_self_signed(std::string const& certificate_file,
                                    std::string const& key_file);

// How long a session can be resumed, and the time between two rotations: the key of a ticket is
// kept for at least one rotation after the ticket was made.
inline constexpr std::chrono::seconds ticket_lifetime = std::chrono::hours(12);

// Session ticket keys (RFC 5077, RFC 8446 §4.6.1): random, in memory only. The newest one encrypts,
// the previous one still decrypts (and its ticket is renewed).
struct ticket_keys {
    struct key {
        std::array<unsigned char, 16> name;
        std::array<unsigned char, 64> secret;  // 32 bytes for AES-256-CBC, 32 for HMAC-SHA256
    };
    key current, previous;
    // A fresh current key; the old current becomes previous.
    std::shared_ptr<ticket_keys const> rotated() const;
    // Two fresh ones: a previous key of zeros would open forged tickets.
    static std::shared_ptr<ticket_keys const> make();
    ~ticket_keys();  // wipes
};

// Belongs to one worker's thread, with its sessions. A session keeps alive what it needs, so a
// context may go (a reload) before its sessions; the signing thread must outlive both.
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
    friend class session;
    std::shared_ptr<state> state_;
};

}  // namespace latchkey::tls
