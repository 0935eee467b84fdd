#include "server/net/client_tls.hpp"

#include <utility>

#include "base/bytes.hpp"
#include "server/net/plain_http.hpp"

namespace latchkey::server {

void client_tls::begin(transport& owner, run_function run) {
    tls_context_ = context_.tls_context();
    signature_ = std::make_unique<signature>();
    signature_->tls = this;
    signature_->owner = &owner;
    signature_->run = run;
    signature_->wake = [](tls::signature_waiter& self) noexcept {
        auto& result = static_cast<signature&>(self);
        result.tls->context_.mailbox().post(result);
    };
    session_ = std::make_unique<tls::session>(*tls_context_, signature_.get());
    stage_ = stage::silent;
}

client_tls::alpn client_tls::negotiated() const {
    if (!session_) return alpn::absent;
    return session_->selected_http2() ? alpn::http2 : alpn::http1;
}

client_tls::demand client_tls::take(std::string_view sealed) {
    if (stage_ == stage::silent) stage_ = stage::undecided;
    input_.append(sealed);
    if (stage_ == stage::undecided) {
        auto const first = tell_first_bytes(input_);
        if (first == first_bytes::undecided) return demand::nothing;
        if (first != first_bytes::tls) return refuse_plain();
        stage_ = stage::receiving;
    }
    return queue() ? demand::step : demand::nothing;
}

bool client_tls::queue() {
    if (stage_ != stage::receiving) return false;
    stage_ = stage::queued;
    return true;
}

// A client that speaks plain HTTP could not read an alert.
client_tls::demand client_tls::refuse_plain() {
    stage_ = stage::ended;
    context_.metrics.handshakes_failed.add();
    output_.append(refuse_plain_http(input_, context_.now.clock));
    base::wipe(input_.data(), input_.size());
    input_.clear();
    end_sent_ = true;
    return demand::end;
}

tls::progress client_tls::step() {
    std::string_view rest = input_;
    auto const progress = session_->handshake(rest, output_);
    input_.erase(0, input_.size() - rest.size());
    if (input_.empty()) std::string().swap(input_);
    stage_ = stage::receiving;
    if (progress == tls::progress::waiting) stage_ = stage::signing;
    if (progress == tls::progress::done) {
        stage_ = stage::established;
        auto& metrics = context_.metrics;
        (session_->resumed() ? metrics.handshakes_resumed : metrics.handshakes_full).add();
    }
    return progress;
}

transport& client_tls::end_signature(coro::resumption& self) {
    auto& result = static_cast<signature&>(self);
    result.tls->stage_ = stage::receiving;
    return *result.owner;
}

void client_tls::cancel_signature() {
    if (is_signing() && session_->cancel_signature()) stage_ = stage::ended;
}

void client_tls::fail() {
    if (is_handshaking()) context_.metrics.handshakes_failed.add();
    stage_ = stage::ended;
    end_sent_ = true;
}

void client_tls::drop() {
    if (is_signing()) return;
    std::string().swap(input_);
    std::string().swap(output_);
    session_.reset();
    stage_ = stage::unused;
}

void client_tls::end() {
    if (!std::exchange(end_sent_, true)) session_->close(output_);
}

}  // namespace latchkey::server
