// The sending side of a transport and its end: flush, half-close, lingering, reset.
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "base/hash.hpp"
#include "base/time_units.hpp"
#include "server/net/transport.hpp"
#include "uring/socket.hpp"

namespace latchkey::server {
namespace {

using base::second;
using base::limits::kib;

constexpr base::mono_ns linger_ns = 2 * second;
constexpr base::mono_ns last_check_ns = second / 10;  // for the client's system to acknowledge
// Output is sent in pieces, so that the progress of a slow client shows.
constexpr std::size_t send_bytes_max = 64 * kib;
constexpr std::size_t progress_part = 64;

}  // namespace

// ---- sending

std::string& transport::output() {
    mark_dirty();
    if (output_.capacity() < 64) output_ = context_.spare_buffers.take();
    return output_;
}

void transport::mark_dirty() {
    if (std::exchange(dirty_, true)) return;
    context_.queues.mark_dirty(*this);
}

void transport::flush() {
    dirty_ = false;
    if (phase_ == phase::closing) return;
    if (session_) seal();
    if (!send_.active) {
        std::swap(sending_, session_ ? sealed_output_ : output_);
        if (!sending_.empty())
            begin_send();
        else if (sending_.capacity() >= 64)  // nothing was written: no buffer while idle
            context_.spare_buffers.put(std::exchange(sending_, {}));
    }
    if (phase_ == phase::finishing && !send_.active && unsent() == 0) shut_down_writing();
    account();
}

void transport::begin_send() {
    auto const size = std::min(sending_.size() - sent_bytes_, send_bytes_max);
    uring::send(context_.ring(), send_, fd_, {sending_.data() + sent_bytes_, size});
    // Progress counts in proportion to what waits: a few bytes now and then are none.
    bool const begins = sent_bytes_ == 0;
    auto const part = (sending_.size() - sent_bytes_) / progress_part;
    if (!begins && taken_bytes_ - progress_mark_ < part) return;
    progress_mark_ = taken_bytes_;
    write_deadline_ = context_.now.mono + send_ns();
    arm_deadline();
}

void transport::on_send(std::int32_t result) {
    if (phase_ == phase::closing) return check_closed();
    if (result <= 0 && result != -EINTR && result != -EAGAIN) return abort();
    auto const size = result > 0 ? static_cast<std::size_t>(result) : 0;
    sent_bytes_ += size;
    taken_bytes_ += size;
    if (sent_bytes_ < sending_.size()) {
        begin_send();
    } else {
        // The deadline stays: the kernel has taken the output, the client perhaps not.
        sent_bytes_ = 0;
        if (secret_) base::wipe(sending_.data(), sending_.size());
        context_.spare_buffers.put(std::exchange(sending_, {}));
        if (unsent() != 0 || phase_ == phase::finishing) mark_dirty();
    }
    account();
    if (waiter_ && waiting_for_ == wait::write_room && unsent() <= context_.unsent_bytes_max() / 2)
        resume(wake_reason::bytes);
}

// ---- the end

void transport::finish() {
    if (phase_ != phase::open) return;
    phase_ = phase::finishing;
    read_deadline_ = 0;
    unread_ = {};
    mark_dirty();
}

void transport::shut_down_writing() {
    // Both directions are complete: a close says all that a FIN before it would.
    if (input_ended_ && !has_unread_output()) return begin_close();
    // Lingering close: what the client still sends is read and dropped. Closing a socket with
    // unread input resets the connection, and the client could lose the response (RFC 9112 §9.6).
    ::shutdown(fd_, SHUT_WR);
    phase_ = phase::lingering;
    paused_ = false;
    if (input_ended_) return close_once_read();
    end_deadline_ = context_.now.mono + linger_ns;
    arm_deadline();
    if (!receive_.active && !starved_) begin_receive();
}

// After a close the kernel keeps what the client has not taken, without a limit of time or memory.
// So the socket stays open until then, or until `on_deadline` resets it.
void transport::close_once_read() {
    if (!has_unread_output()) return begin_close();
    end_deadline_ = context_.now.mono + last_check_ns;
    arm_deadline();
}

bool transport::has_unread_output() const {
    if (write_deadline_ == 0) return false;
    // After a reset the kernel has nothing any more, but still reports how much it was.
    std::uint8_t state = 0;  // the first member of tcp_info
    socklen_t size = sizeof state;
    if (::getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &state, &size) == 0 && state == TCP_CLOSE)
        return false;
    int bytes = 0;
    return ::ioctl(fd_, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

// With the linger option of zero seconds a close resets the connection and drops its output.
void transport::reset() {
    linger const none{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    abort();
}

// Clients of a trusted proxy share its address, so each of its connections is for itself.
std::uint64_t transport::owner() const {
    if (reserved_.key() != 0) return reserved_.key();
    auto const text = [](auto const& bytes) {
        return std::string_view(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    };
    constexpr std::uint64_t no_key = std::uint64_t{1} << 63;
    if (peer_.client && !context_.is_trusted_proxy(*peer_.client))
        return base::hash(text(limit::network_of(*peer_.client).bytes)) | no_key;
    return reinterpret_cast<std::uintptr_t>(this) | no_key;
}

void transport::abort() {
    if (phase_ == phase::closing) return;
    begin_close();
}

void transport::begin_close() {
    if (phase_ == phase::closing) return;
    phase_ = phase::closing;
    read_deadline_ = write_deadline_ = end_deadline_ = 0;
    arm_deadline();
    // A close does not end operations that are armed on the socket: they are cancelled.
    for (auto* const armed : {&receive_, &send_})
        if (armed->active) uring::cancel(context_.ring(), *armed);
    if (signing_ && session_->cancel_signature()) signing_ = false;
    uring::close(context_.ring(), close_, fd_);
    if (waiter_ && waiting_for_ != wait::closed) resume(wake_reason::end);
}

void transport::end_idle() {
    if (phase_ == phase::open && idle_ && unread_.empty() && waiter_ && waiting_for_ == wait::input)
        handshaking_ ? abort() : resume(wake_reason::end);
    else if (phase_ == phase::open && has_failed())
        abort();
}

// A reset that arrives together with data can leave a multishot receive armed on a dead socket
// (seen on Linux 6.18): until a deadline passes, only a poll shows it.
bool transport::has_failed() const {
    pollfd state{fd_, 0, 0};
    return ::poll(&state, 1, 0) == 1 && (state.revents & (POLLERR | POLLHUP)) != 0;
}

void transport::check_closed() {
    // In the next turn: a caller may still use this object.
    if (phase_ == phase::closing && !in_flight() && waiter_ && waiting_for_ == wait::closed)
        context_.queues.resume_next_turn(*this);
}

}  // namespace latchkey::server
