// TLS 1.3 and 1.2 as bytes to bytes over BoringSSL: no sockets, no clock. A `context` holds what
// all sessions of one worker share (certificate, ticket keys, one BIO); a `session` is one
// connection. A session belongs to its worker's thread; so does its context.
//
//     tls::session session(context, nullptr);
//     while (session.handshake(in, out) == tls::progress::want_input) …   // until `done`
//     session.read(in, plain, out, plain_max);                            // appends plaintext
//     session.write(plain, out);
//     session.close(out);
//
// Whatever a call answers, what it appended to `out` is to be sent. `in` and `out` are used during
// the call only. After `failed` every call answers `failed` again and does nothing; after `closed`
// nothing more can be read, and writing is still possible. Where the connection ends without
// `closed`, the peer's data may have been cut off (RFC 8446 §6.1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tls/context.hpp"

namespace latchkey::tls {

enum class progress : std::uint8_t {
    done,        // handshake: established; read: everything was taken, or `plain_max` is reached
    want_input,  // everything was taken, and more bytes of the peer are needed
    waiting,     // an RSA signature is being made on the signing thread; call handshake again when
                 // told
    closed,      // the peer's close_notify; ours is sent by `close`
    failed,      // a fatal alert was sent (in `out`) or received: flush `out` and close. Plain HTTP
                 // gets no alert, nobody there would understand it
};

class session {
  public:
    // `signed_` is told once for every signature that is waited for, at most one per handshake;
    // with an ECDSA certificate, or without a signing thread, it may be null.
    session(context& shared, signature_waiter* signed_);
    // Calls off a signature that is waited for.
    ~session();
    session(session const&) = delete;
    session& operator=(session const&) = delete;

    // Takes from the front of `in` what it needs (removes it from the view), appends to `out`.
    // `done`: what is left of `in` is for `read`. `want_input`: all of `in` was taken. `waiting`:
    // `in` may have bytes left, keep them for the next call; calling before being told is answered
    // `waiting` again.
    progress handshake(std::string_view& in, std::string& out);

    // Appends what could be decrypted to `plain`, whole records, until `in` is used up or `plain`
    // has grown by `plain_max`: so by less than `plain_max` + 16 KiB. Only when established.
    // `done`: all of `in` was taken and no partial record is held, or `plain_max` is reached and
    // what is left of `in` is for the next call. `want_input`: all of `in` was taken, the last
    // record is not complete. `closed` and `failed` may come with plaintext before them, and leave
    // the rest of `in` alone. `out` gets alerts; the answer to a key update goes with the next
    // `write`, as RFC 8446 §4.6.3 allows.
    progress read(std::string_view& in, std::string& plain, std::string& out,
                  std::size_t plain_max);

    // Encrypts all of `plain`, records of at most 16 KiB: `done` or `failed`. Only when established
    // and not after `close`.
    progress write(std::string_view plain, std::string& out);

    // Appends close_notify, once; nothing before the handshake is done or after `failed`.
    void close(std::string& out);

    // Takes the waiter back: true when it was owed a wake, which now never comes; false when there
    // is none under way or it was told already. The handshake cannot go on after true.
    bool call_off();

    bool established() const;
    bool resumed() const;
    std::string_view protocol() const;  // "TLSv1.3"
    // Input bytes that were taken but do not make a whole record yet.
    std::size_t buffered() const;
    // Why it failed, for logs and counters: a name of BoringSSL's such as "NO_SHARED_CIPHER", empty
    // while nothing has failed.
    std::string_view reason() const;

    struct state;

  private:
    std::unique_ptr<state> state_;
};

}  // namespace latchkey::tls
