// TLS of a transport: the handshake, step by step, and records in both directions.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "server/net/plain_http.hpp"
#include "server/net/transport.hpp"

namespace latchkey::server {

using namespace base::limits;

namespace {

// Of an unfinished handshake or record nothing can be answered: its connection ends where it would
// have to wait for memory. Until then it counts as it grows, so that the budget keeps its bound.
bool lacks_memory(worker_context const& context, transport const& connection) {
    return !context.memory.admits(connection.held_bytes());
}

}  // namespace

void transport::begin_handshake() {
    tls_context_ = context_.tls_context();
    signature_result_ = std::make_unique<signature_result>();
    signature_result_->io = this;
    signature_result_->wake = [](tls::signature_waiter& self) noexcept {
        auto& result = static_cast<signature_result&>(self);
        result.io->context_.mailbox().post(result);
    };
    signature_result_->run = [](coro::resumption& self) {
        auto& io = *static_cast<signature_result&>(self).io;
        io.signing_ = false;
        if (io.phase_ == phase::open) io.queue_handshake();
        io.check_closed();
    };
    session_ = std::make_unique<tls::session>(*tls_context_, signature_result_.get());
    handshaking_ = true;
    // Without a first byte a client has no more time than for a first head.
    auto const& limits = context_.current_config();
    end_deadline_ =
        seconds_from_now(std::min(limits.http_handshake_seconds, limits.http_header_seconds));
    arm_deadline();
}

void transport::queue_handshake() {
    if (std::exchange(handshake_queued_, true)) return;
    context_.queues.queue_handshake(*this);
}

void transport::receive_sealed(std::string_view bytes) {
    if (!handshaking_) return decrypt(bytes);
    if (!std::exchange(handshake_started_, true)) {
        end_deadline_ = seconds_from_now(context_.current_config().http_handshake_seconds);
        arm_deadline();
    }
    sealed_input_.append(bytes);
    account();
    if (may_be_plain_) {
        auto const first = tell_first_bytes(sealed_input_);
        if (first == first_bytes::undecided) return;
        may_be_plain_ = false;
        if (first != first_bytes::tls) return refuse_plain();
    }
    if (lacks_memory(context_, *this)) return reset();
    if (!signing_) queue_handshake();
}

// A client that speaks plain HTTP could not read an alert. Its input does not end here: what it
// still sends is read and dropped, so that it can read the answer (RFC 9112 §9.6).
void transport::refuse_plain() {
    handshaking_ = false;
    peer_.tls = false;  // so that what was received is wiped: it may have a key
    context_.metrics.handshakes_failed.add();
    sealed_output_.append(refuse_plain_http(sealed_input_, context_.now.clock));
    base::wipe(sealed_input_.data(), sealed_input_.size());
    sealed_input_.clear();
    sealed_end_sent_ = true;  // no close_notify
    finish();
    if (awaits_client()) resume(wake_reason::end);
}

void transport::handshake_step() {
    handshake_queued_ = false;
    if (phase_ != phase::open || !handshaking_) return;
    std::string_view rest = sealed_input_;
    auto const progress = session_->handshake(rest, sealed_output_);
    sealed_input_.erase(0, sealed_input_.size() - rest.size());
    if (sealed_input_.empty()) std::string().swap(sealed_input_);
    account();
    if (!sealed_output_.empty()) mark_dirty();
    switch (progress) {
        case tls::progress::want_input:
            if (lacks_memory(context_, *this)) reset();
            break;
        case tls::progress::waiting:
            signing_ = true;
            break;
        case tls::progress::done: {
            handshaking_ = false;
            auto& metrics = context_.metrics;
            (session_->resumed() ? metrics.handshakes_resumed : metrics.handshakes_full).add();
            end_deadline_ = 0;
            arm_deadline();
            // Requests may have arrived in the same bytes as the end of the handshake.
            auto const records = std::exchange(sealed_input_, {});
            if (records.empty() && sealed_output_.empty()) acknowledge_now();
            ready_since_ = context_.now.mono;
            decrypt(records);
            wake_first_wait();
            if (phase_ == phase::open && waiter_ && waiting_for_ == wait::input) resume_receiving();
            break;
        }
        case tls::progress::closed:
        case tls::progress::failed:
            handshake_failed();
    }
}

// Where the handshake ends with a message of the client (TLS 1.2 resumed, or no ticket wanted) that
// uses Nagle's algorithm, its request waits for the acknowledgement that the kernel delays by 40
// ms.
void transport::acknowledge_now() const {
    int const enabled = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_QUICKACK, &enabled, sizeof enabled);
}

// The alert is sent, then the connection ends; the coroutine only learns that the input has ended.
void transport::handshake_failed() {
    if (std::exchange(handshaking_, false)) context_.metrics.handshakes_failed.add();
    sealed_end_sent_ = true;
    end_input();
}

void transport::decrypt(std::string_view sealed) {
    auto& plain = context_.plain_scratch;
    for (;;) {
        plain.clear();
        auto const progress = session_->read(sealed, plain, sealed_output_, unparsed_bytes_max);
        bool const full = plain.size() >= unparsed_bytes_max;
        plain.empty() ? account() : deliver(plain);
        base::wipe(plain.data(), plain.size());
        if (!sealed_output_.empty()) mark_dirty();
        if (phase_ != phase::open) return;
        if (progress == tls::progress::failed) return handshake_failed();
        if (progress == tls::progress::closed) return end_input();
        if (!full && sealed.empty()) {
            if (progress == tls::progress::want_input && lacks_memory(context_, *this)) reset();
            return;
        }
    }
}

void transport::seal() {
    if (!output_.empty() && session_->established()) {
        session_->write(output_, sealed_output_);
        if (secret_) base::wipe(output_.data(), output_.size());
        output_.clear();
        context_.spare_buffers.put(std::exchange(output_, {}));
    }
    if (phase_ == phase::finishing && output_.empty() && !std::exchange(sealed_end_sent_, true))
        session_->close(sealed_output_);
}

}  // namespace latchkey::server
