// BoringSSL reads and writes through one BIO per worker, which `binding` points at the buffers of a
// single call. A record is peeked, wiped where it lies, and consumed, so no copy of its plaintext
// stays behind. Signatures are made by another thread: `sign` hands in a job and the handshake goes
// on when that is done.
#include "wire/tls/session.hpp"

#include <openssl/err.h>

#include <utility>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "wire/tls/certificate_chain.hpp"
#include "wire/tls/native.hpp"
#include "wire/tls/signature_job.hpp"

namespace latchkey::tls {

struct session::state {
    // A key update after fewer records is early: legitimate clients send millions between two.
    static constexpr std::uint64_t early_update_records = 1024;
    static constexpr int early_updates_max = 64;

    state(std::shared_ptr<native_context> native, signature_waiter* signature_waiter)
        : shared(std::move(native)), waiter(signature_waiter), ssl(SSL_new(shared->ssl.get())) {}

    // The progress after a call of BoringSSL that returned `result`, at most zero.
    progress progress_of(int result);
    progress fail(std::string_view cause);
    // Notes a record with data that was read. False: the client has updated its keys too often.
    bool admits_updates();

    std::shared_ptr<native_context> shared;  // before `ssl`, which uses it
    signature_waiter* waiter;
    std::shared_ptr<signature_job> job;
    record_meter meter;
    std::string_view reason;
    bool established = false;
    bool peer_closed = false;
    bool closed = false;
    std::uint64_t records = 0;  // under the keys of the last one that had data
    int early_updates = 0;
    std::size_t handshake_bytes = 0;  // that came until it is established
    bssl::UniquePtr<SSL> ssl;
};

namespace {

// Binds the shared BIO to the buffers of one call, and clears errors of other sessions from the
// thread's error queue.
class binding {
  public:
    binding(wire_buffers& buffers, std::string_view* input, std::string* output,
            record_meter& meter)
        : buffers_(buffers) {
        base::check(buffers.meter == nullptr, "a TLS call within a TLS call");
        buffers_ = {.input = input, .output = output, .meter = &meter};
        ERR_clear_error();
    }
    ~binding() { buffers_ = {}; }
    binding(binding const&) = delete;
    binding& operator=(binding const&) = delete;

  private:
    wire_buffers& buffers_;
};

}  // namespace

session::session(context& context, signature_waiter* waiter)
    : state_(std::make_unique<state>(context.native_, waiter)) {
    auto& own = *state_;
    base::check(own.ssl != nullptr, "no memory for a TLS session");
    auto const& shared = *own.shared;
    base::check(waiter != nullptr || shared.signer == nullptr || !shared.certificate->rsa(),
                "a TLS session without a waiter for its signature");
    auto* const ssl = own.ssl.get();
    SSL_set_app_data(ssl, &own);
    SSL_set_accept_state(ssl);
    // Frees the handshake's configuration after the handshake.
    SSL_set_shed_handshake_config(ssl, 1);
    SSL_set0_rbio(ssl, bssl::UpRef(shared.bio).release());
    SSL_set0_wbio(ssl, bssl::UpRef(shared.bio).release());
}

session::~session() {
    cancel_signature();
}

progress session::handshake(std::string_view& input, std::string& output) {
    auto& own = *state_;
    if (!own.reason.empty()) return progress::failed;
    if (own.established) return progress::done;
    binding const bound(own.shared->buffers, &input, &output, own.meter);
    own.handshake_bytes += input.size();
    int const result = SSL_do_handshake(own.ssl.get());
    own.handshake_bytes -= input.size();
    if (result != 1) return own.progress_of(result);
    own.established = true;
    own.handshake_bytes = 0;
    own.job = nullptr;
    // BoringSSL holds the tickets of TLS 1.3 back until the next write; an empty write sends them.
    // They acknowledge the Finished of a client with Nagle's algorithm, which would wait otherwise.
    if (SSL_version(own.ssl.get()) == TLS1_3_VERSION) SSL_write(own.ssl.get(), "", 0);
    return progress::done;
}

progress session::read(std::string_view& input, std::string& plain, std::string& output,
                       std::size_t plain_max) {
    auto& own = *state_;
    if (!own.reason.empty()) return progress::failed;
    base::check(own.established, "a TLS session read before its handshake");
    if (own.peer_closed) return progress::closed;
    binding const bound(own.shared->buffers, &input, &output, own.meter);
    auto& scratch = own.shared->scratch;
    auto const initial_size = plain.size();
    // Whole records, so that no plaintext stays in BoringSSL unread.
    while (plain.size() - initial_size < plain_max) {
        int const size = SSL_peek(own.ssl.get(), scratch.data(), static_cast<int>(scratch.size()));
        if (size <= 0) {
            auto const result = own.progress_of(size);
            if (result != progress::want_input) return result;
            return own.meter.partial() == 0 ? progress::done : progress::want_input;
        }
        plain.append(scratch.data(), static_cast<std::size_t>(size));
        // Leaves no plaintext but the caller's copy, since it may hold a key: wipes the record,
        // then consumes it.
        own.meter.wipe_record();
        base::check(SSL_read(own.ssl.get(), scratch.data(), size) == size,
                    "a peeked TLS record cannot be read");
        base::wipe(scratch.data(), static_cast<std::size_t>(size));
        if (!own.admits_updates()) {
            SSL_send_fatal_alert(own.ssl.get(), SSL_AD_UNEXPECTED_MESSAGE);
            return own.fail("TOO_MANY_KEY_UPDATES");
        }
    }
    return progress::done;
}

progress session::write(std::string_view plain, std::string& output) {
    auto& own = *state_;
    if (!own.reason.empty()) return progress::failed;
    base::check(own.established && !own.closed,
                "a TLS session written to before its handshake or after its close");
    binding const bound(own.shared->buffers, nullptr, &output, own.meter);
    while (!plain.empty()) {
        auto const part = plain.substr(0, native_context::record_bytes_max);
        int const result = SSL_write(own.ssl.get(), part.data(), static_cast<int>(part.size()));
        if (result <= 0) return own.progress_of(result);
        plain.remove_prefix(part.size());
    }
    return progress::done;
}

void session::close(std::string& output) {
    auto& own = *state_;
    if (!own.reason.empty() || !own.established || own.closed) return;
    own.closed = true;
    binding const bound(own.shared->buffers, nullptr, &output, own.meter);
    SSL_shutdown(own.ssl.get());
}

bool session::cancel_signature() {
    return state_->job != nullptr && state_->job->cancel();
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

bool session::selected_http2() const {
    std::uint8_t const* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(state_->ssl.get(), &name, &size);
    return std::string_view(reinterpret_cast<char const*>(name), size) == alpn_http2;
}

std::size_t session::buffered() const {
    return state_->meter.partial();
}

std::size_t session::held_bytes() const {
    return state_->meter.allocated() + state_->handshake_bytes;
}

std::string_view session::reason() const {
    return state_->reason;
}

progress session::state::progress_of(int result) {
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

// New keys count records from zero (RFC 8446 §5.3), so that their number does not grow then.
// Between two records with data BoringSSL takes at most 32 updates, which count as one.
bool session::state::admits_updates() {
    auto const earlier_records = std::exchange(records, SSL_get_read_sequence(ssl.get()));
    bool const is_early = records <= earlier_records && earlier_records < early_update_records;
    early_updates += is_early ? 1 : 0;
    return early_updates <= early_updates_max;
}

progress session::state::fail(std::string_view cause) {
    reason = cause;
    ERR_clear_error();
    return progress::failed;
}

namespace {

// The signature callbacks (SSL_PRIVATE_KEY_METHOD), called within `handshake`.

session::state& state_of(SSL* ssl) {
    return *static_cast<session::state*>(SSL_get_app_data(ssl));
}

// BoringSSL sends no alert here.
ssl_private_key_result_t cannot_sign(SSL* ssl) {
    SSL_send_fatal_alert(ssl, SSL_AD_INTERNAL_ERROR);
    return ssl_private_key_failure;
}

ssl_private_key_result_t sign(SSL* ssl, std::uint8_t*, std::size_t*, std::size_t,
                              std::uint16_t algorithm, std::uint8_t const* message,
                              std::size_t size) {
    auto& own = state_of(ssl);
    auto job = std::make_shared<signature_job>(
        own.shared->certificate->native().key.get(), algorithm,
        std::string_view(reinterpret_cast<char const*>(message), size), *own.waiter);
    if (!own.shared->signer->submit(job)) return cannot_sign(ssl);
    own.job = std::move(job);
    return ssl_private_key_retry;
}

// None of the ciphers exchanges keys by RSA.
ssl_private_key_result_t decrypt(SSL*, std::uint8_t*, std::size_t*, std::size_t,
                                 std::uint8_t const*, std::size_t) {
    return ssl_private_key_failure;
}

ssl_private_key_result_t complete(SSL* ssl, std::uint8_t* output, std::size_t* size,
                                  std::size_t size_max) {
    auto const result = state_of(ssl).job->take(output, size, size_max);
    return result == ssl_private_key_failure ? cannot_sign(ssl) : result;
}

}  // namespace

SSL_PRIVATE_KEY_METHOD const sign_elsewhere = {
    .sign = sign, .decrypt = decrypt, .complete = complete};

}  // namespace latchkey::tls
