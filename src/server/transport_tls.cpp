// TLS of a connection: its handshake, step by step, and its records in both directions.
#include "base/bytes.hpp"
#include "server/transport.hpp"
#include "server/worker.hpp"

namespace latchkey::server {

using namespace base::limits;

void transport::begin_handshake() {
    context_ = home_.tls_context();
    signed_ = std::make_unique<signed_note>();
    signed_->io = this;
    signed_->wake = [](tls::signature_waiter& self) noexcept {
        auto& note = static_cast<signed_note&>(self);
        note.io->home_.mailbox().post(note);
    };
    signed_->run = [](coro::resumption& self) {
        auto& io = *static_cast<signed_note&>(self).io;
        io.signing_ = false;
        if (io.phase_ == phase::open) io.queue_handshake();
        io.check_gone();
    };
    session_ = std::make_unique<tls::session>(*context_, signed_.get());
    handshaking_ = true;
    end_deadline_ = home_.now().mono + static_cast<base::mono_ns>(
                                           home_.shared().configuration.http_handshake_seconds) *
                                           1'000'000'000;
    arm_deadline();
}

void transport::queue_handshake() {
    if (std::exchange(queued_handshake_, true)) return;
    home_.queue_handshake(*this);
}

void transport::take_sealed(std::string_view bytes) {
    if (!handshaking_) return decrypt(bytes);
    sealed_in_.append(bytes);
    if (!signing_) queue_handshake();
}

void transport::handshake_step() {
    queued_handshake_ = false;
    if (phase_ != phase::open || !handshaking_) return;
    std::string_view in = sealed_in_;
    auto const made = session_->handshake(in, sealed_);
    sealed_in_.erase(0, sealed_in_.size() - in.size());
    if (!sealed_.empty()) mark_dirty();
    switch (made) {
        case tls::progress::want_input:
            break;
        case tls::progress::waiting:
            signing_ = true;
            break;
        case tls::progress::done: {
            handshaking_ = false;
            end_deadline_ = 0;
            arm_deadline();
            // Requests may have come in the same bytes as the end of the handshake.
            auto const rest = std::exchange(sealed_in_, {});
            decrypt(rest);
            if (phase_ == phase::open && waiter_ && waiting_for_ == wait::input) go_on_receiving();
            break;
        }
        case tls::progress::closed:
        case tls::progress::failed:
            handshake_failed();
    }
}

// The alert goes out, and then the connection ends; the coroutine learns only that nothing comes.
void transport::handshake_failed() {
    handshaking_ = false;
    sealed_end_sent_ = true;
    no_more_input();
}

void transport::decrypt(std::string_view sealed) {
    auto& plain = home_.plain_scratch();
    for (;;) {
        plain.clear();
        auto const made = session_->read(sealed, plain, sealed_, unparsed_bytes_max);
        bool const full = plain.size() >= unparsed_bytes_max;
        if (!plain.empty()) deliver(plain);
        base::wipe(plain.data(), plain.size());
        if (!sealed_.empty()) mark_dirty();
        if (phase_ != phase::open) return;
        if (made == tls::progress::failed) return handshake_failed();
        if (made == tls::progress::closed) return no_more_input();
        if (!full && sealed.empty()) return;
    }
}

void transport::seal() {
    if (!answers_.empty() && session_->established()) {
        session_->write(answers_, sealed_);
        if (secret_) base::wipe(answers_.data(), answers_.size());
        answers_.clear();
        home_.give_back(std::exchange(answers_, {}));
    }
    if (phase_ == phase::finishing && answers_.empty() && !std::exchange(sealed_end_sent_, true))
        session_->close(sealed_);
}

}  // namespace latchkey::server
