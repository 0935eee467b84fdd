#include "server/transport.hpp"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "api/route.hpp"
#include "base/bytes.hpp"
#include "base/check.hpp"
#include "server/address.hpp"
#include "server/worker.hpp"

namespace latchkey::server {
namespace {

using namespace base::limits;

constexpr base::mono_ns second = 1'000'000'000;
constexpr base::mono_ns linger_ns = 2 * second;
constexpr base::mono_ns last_look_ns = second / 10;  // for the client's system to acknowledge
// A send is asked for in pieces, so that a client that reads, however slowly, is seen to read.
constexpr std::size_t send_bytes_max = 64 * kib;

bool within(std::string_view part, std::string const& whole) {
    return !std::less<>()(part.data(), whole.data()) &&
           !std::less<>()(whole.data() + whole.size(), part.data());
}

}  // namespace

api::peer peer_of(int fd, bool tls) {
    api::peer who;
    who.tls = tls;
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&from), &size) != 0) return who;
    who.client = from_sockaddr(from);
    who.local = from.ss_family == AF_UNIX || (who.client && who.client->is_loopback());
    return who;
}

transport::transport(worker& home, accepted const& socket)
    : home_(home), fd_(socket.fd), peer_(peer_of(socket.fd, socket.tls)), counted_(socket.counted) {
    receive_.io = send_.io = close_.io = timer_.io = this;
    receive_.complete = [](uring::operation& self, std::int32_t result, std::uint32_t flags) {
        static_cast<socket_operation&>(self).io->on_receive(result, flags);
    };
    receive_.foresee = [](uring::operation& self, std::int32_t result, std::uint32_t flags) {
        static_cast<socket_operation&>(self).io->foresee(result, flags);
    };
    send_.complete = [](uring::operation& self, std::int32_t result, std::uint32_t) {
        static_cast<socket_operation&>(self).io->on_send(result);
    };
    close_.complete = [](uring::operation& self, std::int32_t, std::uint32_t) {
        auto& io = *static_cast<socket_operation&>(self).io;
        io.close_.active = false;
        io.check_gone();
    };
    timer_.fire = [](uring::timers::entry& self, base::mono_ns now) {
        static_cast<deadline_entry&>(self).io->on_deadline(now);
    };
    home_.add(*this);
    if (socket.proxy)
        expect_proxy_header();
    else if (socket.tls)
        begin_handshake();
    if (phase_ == phase::open) begin_receive();
}

transport::~transport() {
    base::check(!in_flight(), "a transport destroyed while the kernel still uses it");
    home_.hold(-static_cast<std::ptrdiff_t>(held_));
    home_.timers().remove(timer_);
    home_.forget(*this);
    home_.remove(*this);
}

// ---- receiving

void transport::begin_receive() {
    receive_.active = true;
    paused_ = starved_ = false;
    auto* const sqe = home_.ring().submission(receive_);
    io_uring_prep_recv_multishot(sqe, fd_, nullptr, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = uring::buffers::group;
}

// Only where a key let the request before in: who has none has no record's page read. What TLS has
// sealed nobody can look at ahead.
void transport::foresee(std::int32_t result, std::uint32_t flags) const {
    if (!known_ || !idle_ || session_ || result <= 0 || !(flags & IORING_CQE_F_BUFFER)) return;
    if (auto const seen = api::foresee(home_.buffers().peek(flags, result))) home_.foresee(*seen);
}

void transport::on_receive(std::int32_t result, std::uint32_t flags) {
    if (!(flags & IORING_CQE_F_MORE)) receive_.active = false;
    if (flags & IORING_CQE_F_BUFFER) {
        auto const bytes = home_.buffers().view(flags, result);
        if (result > 0) take_in({bytes.data(), bytes.size()});
        // Nobody can say where a credential lies in what was refused or dropped. TLS hides it.
        if (!peer_.tls) base::wipe(bytes.data(), bytes.size());
        home_.buffers().give_back(flags);
    }
    if (result == 0) {
        // Who goes without a close_notify while nothing is on its way needs none of ours.
        if (idle_ && unsent() == 0) sealed_end_sent_ = true;
        no_more_input();
    } else if (result == -ENOBUFS) {
        home_.metrics().starved.add();
        if (!starved_) home_.starved(*this);
        starved_ = true;
    } else if (result < 0 && result != -ECANCELED && result != -EINTR && result != -EAGAIN) {
        abort();
    }
    bool const wanted =
        phase_ == phase::open || phase_ == phase::finishing || phase_ == phase::lingering;
    if (!receive_.active && wanted && !paused_ && !starved_ && !input_ended_) begin_receive();
    check_gone();
}

void transport::receive_again() {
    starved_ = false;
    if (phase_ != phase::closing && !receive_.active && !input_ended_ && !paused_) begin_receive();
}

void transport::take_in(std::string_view bytes) {
    received_ += bytes.size();
    if (phase_ != phase::open) {
        // What comes before the answer is out does not count: closing now would cut it.
        if (phase_ == phase::lingering && (discarded_ += bytes.size()) > lingering_bytes_max)
            begin_close();
        return;
    }
    if (proxy_header_due_ && !take_proxy_header(bytes)) return;
    if (!session_)
        deliver(bytes);
    else
        take_sealed(bytes);
    pause_if_full();
}

void transport::deliver(std::string_view plain) {
    if (!waiter_ || waiting_for_ != wait::input) return append_pending(plain);
    if (unread_.empty())
        unread_ = plain;
    else
        append_pending(plain);
    resume(news::bytes);
    keep_rest();
}

void transport::append_pending(std::string_view plain) {
    drop_consumed();
    if (pending_.capacity() < 64) pending_ = home_.take_buffer();
    pending_.append(plain);
    unread_ = pending_;
    account();
}

// Of what outlived its turn only the unread bytes stay, and nothing of the others in memory: keys
// were among them.
void transport::drop_consumed() {
    if (unread_.empty()) {
        unread_ = {};
        if (pending_.capacity() < 64) return;
        base::wipe(pending_.data(), pending_.size());
        home_.give_back(std::exchange(pending_, {}));
    } else if (auto const used = pending_.size() - unread_.size(); used != 0) {
        std::memmove(pending_.data(), unread_.data(), unread_.size());
        base::wipe(pending_.data() + unread_.size(), used);
        pending_.resize(unread_.size());
        unread_ = pending_;
    }
}

// What the coroutine left lies in a buffer that goes back to the kernel now.
void transport::keep_rest() {
    if (unread_.empty() || within(unread_, pending_)) {
        drop_consumed();
    } else {
        auto const rest = std::exchange(unread_, {});
        append_pending(rest);
    }
    account();
}

void transport::pause_if_full() {
    if (paused_ || phase_ != phase::open) return;
    if (unread_.size() <= unparsed_bytes_max && sealed_in_.size() <= unparsed_bytes_max) return;
    paused_ = true;
    if (receive_.active)
        io_uring_prep_cancel64(
            home_.ring().submission(),
            reinterpret_cast<std::uintptr_t>(static_cast<uring::operation*>(&receive_)), 0);
}

void transport::go_on_receiving() {
    if (!std::exchange(paused_, false)) return;
    if (!receive_.active && !starved_ && !input_ended_) begin_receive();
}

void transport::consume(std::size_t bytes) {
    unread_.remove_prefix(bytes);
}

void transport::no_more_input() {
    if (input_ended_) return;
    input_ended_ = true;
    if (handshaking_)
        abort();
    else if (phase_ == phase::lingering)
        close_once_read();
    else if (waiter_ && waiting_for_ == wait::input)
        resume(news::end);
}

// ---- sending

std::string& transport::answers() {
    mark_dirty();
    if (answers_.capacity() < 64) answers_ = home_.take_buffer();
    return answers_;
}

void transport::mark_dirty() {
    if (std::exchange(dirty_, true)) return;
    home_.mark_dirty(*this);
}

void transport::flush() {
    dirty_ = false;
    if (phase_ == phase::closing) return;
    if (session_) seal();
    if (!send_.active) {
        std::swap(sending_, session_ ? sealed_ : answers_);
        if (!sending_.empty()) begin_send();
    }
    if (phase_ == phase::finishing && !send_.active && unsent() == 0) shut_down_writing();
    account();
}

void transport::begin_send() {
    send_.active = true;
    auto const size = std::min(sending_.size() - sent_, send_bytes_max);
    io_uring_prep_send(home_.ring().submission(send_), fd_, sending_.data() + sent_, size,
                       MSG_NOSIGNAL | MSG_WAITALL);
    write_deadline_ = home_.now().mono + send_ns();
    arm_deadline();
}

void transport::on_send(std::int32_t result) {
    send_.active = false;
    if (phase_ == phase::closing) return check_gone();
    if (result <= 0 && result != -EINTR && result != -EAGAIN) return abort();
    sent_ += result > 0 ? static_cast<std::size_t>(result) : 0;
    if (sent_ < sending_.size()) {
        begin_send();
    } else {
        // The deadline stays: the kernel has what it took, the client may not.
        sent_ = 0;
        if (secret_) base::wipe(sending_.data(), sending_.size());
        home_.give_back(std::exchange(sending_, {}));
        if (unsent() != 0 || phase_ == phase::finishing) mark_dirty();
    }
    account();
    if (waiter_ && waiting_for_ == wait::room && unsent() <= unsent_bytes_max / 2)
        resume(news::bytes);
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
    // Nobody sends and nobody owes: closing says all that a FIN before it would.
    if (input_ended_ && !client_owes_reading()) return begin_close();
    // What the client still sends is read and dropped: closing a socket with unread bytes resets
    // the connection, and the client could lose the answer (RFC 9112 §9.6).
    ::shutdown(fd_, SHUT_WR);
    phase_ = phase::lingering;
    paused_ = false;
    if (input_ended_) return close_once_read();
    end_deadline_ = home_.now().mono + linger_ns;
    arm_deadline();
    if (!receive_.active && !starved_) begin_receive();
}

// A socket that is closed leaves to the kernel what the client has not taken, for as long as the
// client likes and counted by nobody. So it is kept until then, or until `on_deadline` resets it.
void transport::close_once_read() {
    if (!client_owes_reading()) return begin_close();
    end_deadline_ = home_.now().mono + last_look_ns;
    arm_deadline();
}

bool transport::client_owes_reading() const {
    if (write_deadline_ == 0) return false;
    // Of a connection that was reset the kernel has nothing any more, but still says how much it
    // was.
    std::uint8_t state = 0;  // the first member of tcp_info
    socklen_t size = sizeof state;
    if (::getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &state, &size) == 0 && state == TCP_CLOSE)
        return false;
    int bytes = 0;
    return ::ioctl(fd_, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

// What the kernel still has goes too.
void transport::reset() {
    linger const at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    abort();
}

bool transport::hoards(std::size_t share, base::mono_ns now) const {
    return send_.active && unsent() > share && now - (write_deadline_ - send_ns()) >= second;
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
    // Closing does not end what is armed on a socket, so each is cancelled too.
    for (auto* const armed : {&receive_, &send_})
        if (armed->active)
            io_uring_prep_cancel64(
                home_.ring().submission(),
                reinterpret_cast<std::uintptr_t>(static_cast<uring::operation*>(armed)), 0);
    if (signing_ && session_->call_off()) signing_ = false;
    close_.active = true;
    io_uring_prep_close(home_.ring().submission(close_), fd_);
    if (waiter_ && waiting_for_ != wait::gone) resume(news::end);
}

void transport::end_idle() {
    if (phase_ == phase::open && idle_ && unread_.empty() && waiter_ && waiting_for_ == wait::input)
        handshaking_ ? abort() : resume(news::end);
    else if (phase_ == phase::open && is_dead())
        abort();
}

// A reset that came together with data can leave a multishot receive armed on a dead socket; until
// a deadline notices, only asking does.
bool transport::is_dead() const {
    pollfd asked{fd_, 0, 0};
    return ::poll(&asked, 1, 0) == 1 && (asked.revents & (POLLERR | POLLHUP)) != 0;
}

void transport::check_gone() {
    // Not here and now: somebody above may still look at this object.
    if (phase_ == phase::closing && !in_flight() && waiter_ && waiting_for_ == wait::gone)
        home_.run_next_turn(*this);
}

// ---- waiting

transport::waiting transport::more(base::mono_ns deadline) {
    if (!pending_.empty()) drop_consumed();
    read_deadline_ = deadline;
    arm_deadline();
    return {*this, wait::input};
}
transport::waiting transport::room() {
    return {*this, wait::room};
}
transport::waiting transport::next_turn() {
    return {*this, wait::turn};
}
transport::waiting transport::until(base::mono_ns when) {
    read_deadline_ = when;
    arm_deadline();
    return {*this, wait::time};
}
transport::waiting transport::gone() {
    return {*this, wait::gone};
}

bool transport::waiting::await_ready() const noexcept {
    io.news_ = io.open() && !io.input_ended_ ? news::bytes : news::end;
    switch (what) {
        case wait::input:
            return io.news_ == news::end;
        case wait::room:
            return !io.open() || io.unsent() <= unsent_bytes_max / 2;
        case wait::turn:
        case wait::time:
            return !io.open();
        case wait::gone:
            return io.phase_ == phase::closing && !io.in_flight();
    }
    return true;
}

void transport::waiting::await_suspend(std::coroutine_handle<> waiter) noexcept {
    io.waiter_ = waiter;
    io.waiting_for_ = what;
    if (what == wait::turn) io.home_.run_next_turn(io);
    if (what == wait::input) io.go_on_receiving();
}

void transport::resume(news what) {
    news_ = what;
    read_deadline_ = 0;
    std::exchange(waiter_, nullptr).resume();
}

void transport::resume_later() {
    // It may have asked for the next turn and wait for its end by now: the entry says only "look".
    bool const gone = waiting_for_ == wait::gone && phase_ == phase::closing && !in_flight();
    if (waiter_ && (waiting_for_ == wait::turn || gone)) resume(news::bytes);
}

void transport::arm_deadline() {
    base::mono_ns soonest = 0;
    for (auto const deadline : {read_deadline_, write_deadline_, end_deadline_})
        if (deadline != 0 && (soonest == 0 || deadline < soonest)) soonest = deadline;
    home_.timers().arm(timer_, soonest);
}

void transport::on_deadline(base::mono_ns now) {
    if (write_deadline_ != 0 && now >= write_deadline_) {
        if (send_.active || client_owes_reading()) return reset();
        write_deadline_ = 0;
    }
    if (end_deadline_ != 0 && now >= end_deadline_) {
        if (phase_ != phase::lingering || !client_owes_reading()) return begin_close();
        end_deadline_ = now + second;
    }
    if (read_deadline_ != 0 && now >= read_deadline_) {
        read_deadline_ = 0;
        if (waiter_ && (waiting_for_ == wait::input || waiting_for_ == wait::time))
            resume(news::late);
    }
    arm_deadline();
}

void transport::account() {
    auto const now_held = pending_.size() + answers_.size() + sealed_.size() + sending_.size() +
                          sealed_in_.size() + body_held_;
    home_.hold(static_cast<std::ptrdiff_t>(now_held) - static_cast<std::ptrdiff_t>(held_));
    held_ = now_held;
}

base::mono_ns transport::send_ns() const {
    return static_cast<base::mono_ns>(home_.rules()->configuration.http_send_seconds) * second;
}

}  // namespace latchkey::server
