// TLS of one client: the handshake step by step, also beside a signature by the signing thread, and
// records in both directions; plain HTTP in its place is told and answered. Bytes in, bytes out:
// the socket is another's. Without `begin` a connection has no TLS. Belongs to its worker's thread.
//
//     tls.begin(io, run);              // `run`: a signature is made, in the worker's mail
//     switch (tls.take(bytes)) …       // what is to be done next, during the handshake
//     tls.step();                      // until it is no longer `is_handshaking`
//     tls.read(sealed, plain, plain_max);  tls.write(plain);
//     … send and empty tls.output() …
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/heap_bytes.hpp"
#include "runtime/coro/executor.hpp"
#include "server/worker_context.hpp"
#include "wire/tls/session.hpp"

namespace latchkey::server {

class client_tls {
  public:
    // What ALPN selected, once the handshake is done.
    enum class alpn : std::uint8_t { absent, http1, http2 };
    enum class demand : std::uint8_t {
        nothing,  // more bytes, or a signature that is under way
        step,     // a `step`, which is queued
        end,      // it was no TLS: send the output, and end
    };
    using run_function = void (*)(coro::resumption&);

    explicit client_tls(worker_context& context) : context_(context) {}
    client_tls(client_tls const&) = delete;
    client_tls& operator=(client_tls const&) = delete;

    void begin(transport& owner, run_function run);
    bool is_used() const { return session_ != nullptr; }
    alpn negotiated() const;

    bool is_handshaking() const { return stage_ >= stage::silent && stage_ <= stage::signing; }
    // Bytes of the handshake have arrived.
    bool has_begun() const { return stage_ > stage::silent; }
    demand take(std::string_view sealed);
    // `done`: what `take_rest` returns is for `read`.
    tls::progress step();
    std::string take_rest() { return std::exchange(input_, {}); }
    std::size_t unread_bytes() const { return input_.size(); }
    // Of the `run` of `begin`: its connection, whose handshake goes on with a `step` once `queue`
    // returns true.
    static transport& end_signature(coro::resumption& self);
    bool queue();
    bool is_signing() const { return stage_ == stage::signing; }
    void cancel_signature();

    // As of tls::session.
    tls::progress read(std::string_view& sealed, std::string& plain, std::size_t plain_max) {
        return session_->read(sealed, plain, output_, plain_max);
    }
    // False: nothing can be written yet, or any more.
    bool is_established() const { return session_->established(); }
    void write(std::string_view plain) { session_->write(plain, output_); }
    // Says goodbye, once.
    void end();
    // A goodbye would not be read.
    void leave_out_end() { end_sent_ = true; }
    // The handshake or a record was wrong; the alert is in the output.
    void fail();
    // Nothing more will come or go: gives all memory back that no signature is made with.
    void drop();

    // Records to be sent; whoever sends them takes them out.
    std::string& output() { return output_; }
    std::string const& output() const { return output_; }
    std::size_t held_bytes() const {
        if (!session_) return 0;
        return base::heap_bytes(input_) + base::heap_bytes(output_) + session_->held_bytes();
    }

  private:
    enum class stage : std::uint8_t {
        unused,
        silent,     // of the handshake nothing has come
        undecided,  // its first bytes do not yet tell TLS from plain HTTP
        receiving,  // more bytes are needed
        queued,     // a step is due
        signing,    // an RSA signature is being made
        established,
        ended,
    };
    // A signature by the signing thread; it returns through the mailbox.
    struct signature : tls::signature_waiter, coro::resumption {
        client_tls* tls = nullptr;
        transport* owner = nullptr;
    };

    demand refuse_plain();

    worker_context& context_;
    stage stage_ = stage::unused;
    bool end_sent_ = false;  // or there is none to be sent
    std::string input_;      // of an unfinished handshake
    std::string output_;
    std::shared_ptr<tls::context> tls_context_;  // as at its begin, across a reload
    std::unique_ptr<tls::session> session_;
    std::unique_ptr<signature> signature_;
};

}  // namespace latchkey::server
