// TLS 1.3 and 1.2 as bytes to bytes over BoringSSL: no sockets, no clock. A `context` holds what
// all sessions of one worker share (certificate, ticket keys, one BIO); a `session` is one
// connection. A session belongs to its worker's thread; so does its context.
//
//     tls::session session(context, nullptr);
//     while (session.handshake(input, output) == tls::progress::want_input) …   // until `done`
//     session.read(input, plain, output, plain_max);                           // appends plaintext
//     session.write(plain, output);
//     session.close(output);
//
// Whatever a call returns, send what it appended to `output`. `input` and `output` are used during
// the call only. After `failed` every call returns `failed` and does nothing; after `closed`
// nothing more can be read, but writing is possible. Where the connection ends without `closed`,
// the peer's data may be truncated (RFC 8446 §6.1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "wire/tls/tls_context.hpp"

namespace latchkey::tls {

enum class progress : std::uint8_t {
    done,        // handshake: established; read: all input consumed, or `plain_max` reached
    want_input,  // all input consumed, and more bytes of the peer are needed
    waiting,     // an RSA signature is being made on the signing thread; call handshake again after
                 // the wake
    closed,      // the peer sent close_notify; `close` sends ours
    failed,  // a fatal alert was sent (in `output`) or received: flush `output` and close. Plain
             // HTTP gets no alert, since its client would not understand one
};

class session {
  public:
    // `waiter` is woken once for every pending signature, at most one per handshake. It may be null
    // with an ECDSA certificate or without a signing thread.
    session(context& context, signature_waiter* waiter);
    // Cancels a pending signature.
    ~session();
    session(session const&) = delete;
    session& operator=(session const&) = delete;

    // Consumes bytes from the front of `input` (removes them from the view), appends to `output`.
    // `done`: the rest of `input` is for `read`, and `output` has a ticket unless the client
    // accepts none (or resumed in TLS 1.2). `want_input`: all of `input` was consumed. `waiting`:
    // keep the rest of `input` for the next call; a call before the wake returns `waiting` again.
    progress handshake(std::string_view& input, std::string& output);

    // Appends the plaintext of whole records to `plain`, until `input` is empty or `plain` has
    // grown by `plain_max`; so it grows by less than `plain_max` + 16 KiB. Only when established.
    // `done`: all of `input` was consumed and no partial record is buffered, or `plain_max` is
    // reached and the rest of `input` is for the next call. `want_input`: all of `input` was
    // consumed, the last record is incomplete. `closed` and `failed` may follow plaintext, and
    // leave the rest of `input`. `output` gets alerts; the response to a key update goes with the
    // next `write`, as RFC 8446 §4.6.3 allows. Beyond 64 updates that each follow fewer than 1,024
    // records, reading fails.
    progress read(std::string_view& input, std::string& plain, std::string& output,
                  std::size_t plain_max);

    // Encrypts all of `plain`, records of at most 16 KiB: `done` or `failed`. Only when established
    // and not after `close`.
    progress write(std::string_view plain, std::string& output);

    // Appends close_notify, once; nothing before the handshake is done or after `failed`.
    void close(std::string& output);

    // Removes the waiter of a pending signature: true when its wake was outstanding and will not
    // come; false when no signature is pending or the waiter was woken already. After true the
    // handshake cannot continue.
    bool cancel_signature();

    bool established() const;
    bool resumed() const;
    std::string_view protocol() const;  // "TLSv1.3"
    bool selected_http2() const;        // by ALPN; else it is HTTP/1.1
    // Consumed input bytes of an incomplete record.
    std::size_t buffered() const;
    // Bytes of the input that BoringSSL keeps: an incomplete record, in the handshake all that
    // came. Beside them a session has some 10 KiB.
    std::size_t held_bytes() const;
    // The cause of a failure, for logs and counters: a name of BoringSSL such as
    // "NO_SHARED_CIPHER"; empty before.
    std::string_view reason() const;

    struct state;

  private:
    std::unique_ptr<state> state_;
};

}  // namespace latchkey::tls
