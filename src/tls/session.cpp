#include "tls/session.hpp"

#include <openssl/err.h>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "tls/native.hpp"
#include "tls/signature_job.hpp"

namespace latchkey::tls {

struct session::state {
    state(std::shared_ptr<context::state> of, signature_waiter* waiting)
        : shared(std::move(of)), waiter(waiting), ssl(SSL_new(shared->native.get())) {}

    // What a call of BoringSSL's that gave `result`, not more than zero, means.
    progress after(int result);
    progress fail(std::string_view why);

    std::shared_ptr<context::state> shared;  // before `ssl`, which uses it
    signature_waiter* waiter;
    std::shared_ptr<signature_job> job;
    record_meter meter;
    std::string_view reason;
    bool established = false;
    bool peer_closed = false;
    bool closed = false;
    bssl::UniquePtr<SSL> ssl;
};

namespace {

// Binds the shared BIO to the buffers of one call, and clears what another session's failure may
// have left in the thread's error queue.
class binding {
  public:
    binding(wire& bound, std::string_view* in, std::string* out, record_meter& meter)
        : bound_(bound) {
        base::check(bound.meter == nullptr, "a TLS call within a TLS call");
        bound_ = {.in = in, .out = out, .meter = &meter};
        ERR_clear_error();
    }
    ~binding() { bound_ = {}; }
    binding(binding const&) = delete;
    binding& operator=(binding const&) = delete;

  private:
    wire& bound_;
};

}  // namespace

session::session(context& shared, signature_waiter* signed_)
    : state_(std::make_unique<state>(shared.state_, signed_)) {
    auto& own = *state_;
    base::check(own.ssl != nullptr, "no memory for a TLS session");
    auto const& of = *own.shared;
    base::check(signed_ != nullptr || of.signer == nullptr || !of.who->rsa(),
                "a TLS session that cannot be told of its signature");
    auto* const ssl = own.ssl.get();
    SSL_set_app_data(ssl, &own);
    SSL_set_accept_state(ssl);
    // What the handshake was configured with is freed when it is done.
    SSL_set_shed_handshake_config(ssl, 1);
    SSL_set0_rbio(ssl, bssl::UpRef(of.bio).release());
    SSL_set0_wbio(ssl, bssl::UpRef(of.bio).release());
}

session::~session() {
    call_off();
}

progress session::handshake(std::string_view& in, std::string& out) {
    auto& own = *state_;
    if (!own.reason.empty()) return progress::failed;
    if (own.established) return progress::done;
    binding const bound(own.shared->bound, &in, &out, own.meter);
    int const result = SSL_do_handshake(own.ssl.get());
    if (result != 1) return own.after(result);
    own.established = true;
    own.job = nullptr;
    return progress::done;
}

progress session::read(std::string_view& in, std::string& plain, std::string& out,
                       std::size_t plain_max) {
    auto& own = *state_;
    if (!own.reason.empty()) return progress::failed;
    base::check(own.established, "a TLS session read before its handshake");
    if (own.peer_closed) return progress::closed;
    binding const bound(own.shared->bound, &in, &out, own.meter);
    auto& scratch = own.shared->scratch;
    auto const before = plain.size();
    // Whole records, so that no plaintext is ever left inside where nobody would ask for it.
    while (plain.size() - before < plain_max) {
        int const got = SSL_peek(own.ssl.get(), scratch.data(), static_cast<int>(scratch.size()));
        if (got <= 0) {
            auto const why = own.after(got);
            if (why != progress::want_input) return why;
            return own.meter.partial() == 0 ? progress::done : progress::want_input;
        }
        plain.append(scratch.data(), static_cast<std::size_t>(got));
        // Of the plaintext nothing stays but what the caller has: it may hold a key. What is taken
        // now is the record that was just wiped.
        own.meter.wipe_record();
        base::check(SSL_read(own.ssl.get(), scratch.data(), got) == got,
                    "a TLS record that was there is not any more");
        base::wipe(scratch.data(), static_cast<std::size_t>(got));
    }
    return progress::done;
}

progress session::write(std::string_view plain, std::string& out) {
    auto& own = *state_;
    if (!own.reason.empty()) return progress::failed;
    base::check(own.established && !own.closed,
                "a TLS session written to before or after its time");
    binding const bound(own.shared->bound, nullptr, &out, own.meter);
    while (!plain.empty()) {
        auto const part = plain.substr(0, context::state::record_bytes_max);
        int const result = SSL_write(own.ssl.get(), part.data(), static_cast<int>(part.size()));
        if (result <= 0) return own.after(result);
        plain.remove_prefix(part.size());
    }
    return progress::done;
}

void session::close(std::string& out) {
    auto& own = *state_;
    if (!own.reason.empty() || !own.established || own.closed) return;
    own.closed = true;
    binding const bound(own.shared->bound, nullptr, &out, own.meter);
    SSL_shutdown(own.ssl.get());
}

bool session::call_off() {
    return state_->job != nullptr && state_->job->call_off();
}

bool session::established() const {
    return state_->established;
}

bool session::resumed() const {
    return SSL_session_reused(state_->ssl.get()) == 1;
}

std::string_view session::protocol() const {
    return SSL_get_version(state_->ssl.get());
}

std::size_t session::buffered() const {
    return state_->meter.partial();
}

std::string_view session::reason() const {
    return state_->reason;
}

progress session::state::after(int result) {
    switch (SSL_get_error(ssl.get(), result)) {
        case SSL_ERROR_WANT_READ:
            return progress::want_input;
        case SSL_ERROR_WANT_PRIVATE_KEY_OPERATION:
            return progress::waiting;
        case SSL_ERROR_ZERO_RETURN:
            if (!established) return fail("CLOSED_IN_HANDSHAKE");
            peer_closed = true;
            return progress::closed;
        default:
            return fail(queued_reason());
    }
}

progress session::state::fail(std::string_view why) {
    reason = why;
    ERR_clear_error();
    return progress::failed;
}

namespace {

// The signature hooks (SSL_PRIVATE_KEY_METHOD), called within `handshake`.

session::state& state_of(SSL* ssl) {
    return *static_cast<session::state*>(SSL_get_app_data(ssl));
}

// BoringSSL leaves the alert to us.
ssl_private_key_result_t cannot_sign(SSL* ssl) {
    SSL_send_fatal_alert(ssl, SSL_AD_INTERNAL_ERROR);
    return ssl_private_key_failure;
}

ssl_private_key_result_t sign(SSL* ssl, std::uint8_t*, std::size_t*, std::size_t,
                              std::uint16_t algorithm, std::uint8_t const* message,
                              std::size_t size) {
    auto& own = state_of(ssl);
    auto job = std::make_shared<signature_job>(
        own.shared->who->native().key.get(), algorithm,
        std::string_view(reinterpret_cast<char const*>(message), size), *own.waiter);
    if (!own.shared->signer->submit(job)) return cannot_sign(ssl);
    own.job = std::move(job);
    return ssl_private_key_retry;
}

// Key exchange by RSA is not among our ciphers.
ssl_private_key_result_t decrypt(SSL*, std::uint8_t*, std::size_t*, std::size_t,
                                 std::uint8_t const*, std::size_t) {
    return ssl_private_key_failure;
}

ssl_private_key_result_t complete(SSL* ssl, std::uint8_t* out, std::size_t* size,
                                  std::size_t size_max) {
    auto const result = state_of(ssl).job->take(out, size, size_max);
    return result == ssl_private_key_failure ? cannot_sign(ssl) : result;
}

}  // namespace

SSL_PRIVATE_KEY_METHOD const sign_elsewhere = {
    .sign = sign, .decrypt = decrypt, .complete = complete};

}  // namespace latchkey::tls
