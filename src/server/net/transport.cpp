#include "server/net/transport.hpp"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/time_units.hpp"
#include "server/process/address.hpp"
#include "session/stream.hpp"
#include "uring/socket.hpp"

namespace latchkey::server {
namespace {

using namespace base::limits;
using base::second;

bool within(std::string_view part, std::string const& whole) {
    return !std::less<>()(part.data(), whole.data()) &&
           !std::less<>()(whole.data() + whole.size(), part.data());
}

}  // namespace

api::peer peer_of(int fd, bool tls) {
    api::peer peer;
    peer.tls = tls;
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return peer;
    peer.client = from_sockaddr(address);
    peer.local = address.ss_family == AF_UNIX || (peer.client && peer.client->is_loopback());
    return peer;
}

transport::transport(worker_context& context, accepted const& socket)
    : context_(context),
      reserved_(context.memory),
      fd_(socket.fd),
      peer_(peer_of(socket.fd, socket.tls)),
      counted_address_(socket.counted_address) {
    receive_.io = send_.io = close_.io = timer_.io = this;
    receive_.complete = [](uring::operation& self, uring::completion const& cqe) {
        static_cast<socket_operation&>(self).io->on_receive(cqe);
    };
    receive_.prefetch_hint = [](uring::operation& self, uring::completion const& next) {
        static_cast<socket_operation&>(self).io->prefetch_hint(next);
    };
    send_.complete = [](uring::operation& self, uring::completion const& cqe) {
        static_cast<socket_operation&>(self).io->on_send(cqe.result);
    };
    close_.complete = [](uring::operation& self, uring::completion const&) {
        static_cast<socket_operation&>(self).io->check_closed();
    };
    timer_.fire = [](uring::timers::entry& self, base::mono_ns now) {
        static_cast<deadline_entry&>(self).io->on_deadline(now);
    };
    context_.connections.add(*this);
    ready_since_ = context_.now.mono;
    if (socket.proxy)
        expect_proxy_header();
    else if (socket.tls)
        begin_handshake();
    if (phase_ == phase::open) begin_receive();
}

transport::~transport() {
    base::check(!in_flight(), "a transport destroyed while the kernel still uses it");
    context_.timers().remove(timer_);
    context_.queues.forget(*this, dirty_);
    context_.connections.remove(*this);
    if (counted_address_) context_.shared.open_by_address.leave(*counted_address_);
}

// ---- receiving

void transport::begin_receive() {
    paused_ = starved_ = false;
    uring::receive_multishot(context_.ring(), receive_, fd_);
}

// Only after a request that a key admitted, so that strangers have no page read. Under TLS the
// request is not readable yet.
void transport::prefetch_hint(uring::completion const& next) const {
    if (!read_ahead_allowed_ || !idle_ || session_ || next.result <= 0 || !next.has_buffer())
        return;
    context_.ahead.hint(context_.buffers().peek(next));
}

void transport::on_receive(uring::completion const& cqe) {
    auto const result = cqe.result;
    if (cqe.has_buffer()) {
        auto const bytes = context_.buffers().view(cqe);
        if (result > 0) receive_bytes({bytes.data(), bytes.size()});
        // Refused or dropped input may hold a credential anywhere; under TLS it is encrypted.
        if (!peer_.tls) base::wipe(bytes.data(), bytes.size());
        context_.buffers().release(cqe);
    }
    if (result == 0) {
        // A client that ends without close_notify while nothing is in flight is sent none: it would
        // cost a send that is not read.
        if (idle_ && unsent() == 0) sealed_end_sent_ = true;
        end_input();
    } else if (result == -ENOBUFS) {
        context_.metrics.starved.add();
        if (!starved_) context_.queues.queue_starved(*this);
        starved_ = true;
    } else if (result < 0 && result != -ECANCELED && result != -EINTR && result != -EAGAIN) {
        abort();
    }
    bool const receives =
        phase_ == phase::open || phase_ == phase::finishing || phase_ == phase::lingering;
    if (!receive_.active && receives && !paused_ && !starved_ && !input_ended_) begin_receive();
    check_closed();
}

void transport::receive_again() {
    starved_ = false;
    if (phase_ != phase::closing && !receive_.active && !input_ended_ && !paused_) begin_receive();
}

void transport::receive_bytes(std::string_view bytes) {
    received_ += bytes.size();
    if (phase_ != phase::open) {
        // Input before the output has been sent does not count: closing now would cut the output.
        if (phase_ == phase::lingering && (discarded_bytes_ += bytes.size()) > lingering_bytes_max)
            begin_close();
        return;
    }
    if (proxy_header_due_ && !take_proxy_header(bytes)) return;
    if (!session_)
        deliver(bytes);
    else
        receive_sealed(bytes);
    pause_if_full();
}

void transport::deliver(std::string_view plain) {
    if (!waiter_ || waiting_for_ != wait::input) return append_unread(plain);
    if (unread_.empty())
        unread_ = plain;
    else
        append_unread(plain);
    resume(wake_reason::bytes);
    keep_unread();
}

void transport::append_unread(std::string_view plain) {
    drop_consumed();
    if (kept_input_.capacity() < 64) kept_input_ = context_.spare_buffers.take();
    kept_input_.append(plain);
    unread_ = kept_input_;
    account();
}

// Of the kept input only the unread bytes stay; the others are wiped, since they may hold keys.
void transport::drop_consumed() {
    if (unread_.empty()) {
        unread_ = {};
        if (kept_input_.capacity() < 64) return;
        base::wipe(kept_input_.data(), kept_input_.size());
        context_.spare_buffers.put(std::exchange(kept_input_, {}));
    } else if (auto const used_bytes = kept_input_.size() - unread_.size(); used_bytes != 0) {
        std::memmove(kept_input_.data(), unread_.data(), unread_.size());
        base::wipe(kept_input_.data() + unread_.size(), used_bytes);
        kept_input_.resize(unread_.size());
        unread_ = kept_input_;
    }
}

// The rest lies in a buffer that goes back to the kernel now.
void transport::keep_unread() {
    if (unread_.empty() || within(unread_, kept_input_)) {
        drop_consumed();
    } else {
        auto const rest = std::exchange(unread_, {});
        append_unread(rest);
    }
    account();
}

// Flow control: a connection that does not parse at the moment keeps less.
std::size_t transport::unparsed_max() const {
    bool const parses = waiter_ && waiting_for_ == wait::input;
    return parses ? unparsed_bytes_max : std::min(unparsed_bytes_max, context_.unsent_bytes_max());
}

void transport::pause_if_full() {
    if (paused_ || phase_ != phase::open) return;
    if (unread_.size() <= unparsed_max() && sealed_input_.size() <= unparsed_bytes_max) return;
    paused_ = true;
    if (receive_.active) uring::cancel(context_.ring(), receive_);
}

void transport::resume_receiving() {
    if (!std::exchange(paused_, false)) return;
    if (!receive_.active && !starved_ && !input_ended_) begin_receive();
}

void transport::consume(std::size_t bytes) {
    unread_.remove_prefix(bytes);
}

void transport::end_input() {
    if (input_ended_) return;
    input_ended_ = true;
    if (handshaking_)
        abort();
    else if (phase_ == phase::lingering)
        close_once_read();
    else if (awaits_client())
        resume(wake_reason::end);
}

// ---- waiting

transport::awaiter transport::read_more(base::mono_ns deadline) {
    return begin_wait(wait::input, deadline);
}
transport::awaiter transport::await_events(base::mono_ns deadline) {
    return begin_wait(wait::events, deadline);
}
transport::awaiter transport::begin_wait(wait kind, base::mono_ns deadline) {
    if (!kept_input_.empty()) drop_consumed();
    wait_interrupted_ = false;  // an interrupt that came too late ends no later wait
    read_deadline_ = deadline;
    arm_deadline();
    return {*this, kind};
}
transport::awaiter transport::write_room() {
    return {*this, wait::write_room};
}
transport::awaiter transport::next_turn() {
    return {*this, wait::turn};
}
transport::awaiter transport::sleep_until(base::mono_ns time) {
    read_deadline_ = time;
    arm_deadline();
    return {*this, wait::time};
}
transport::awaiter transport::closed() {
    return {*this, wait::closed};
}

bool transport::awaiter::await_ready() const noexcept {
    io.wake_reason_ = io.open() && !io.input_ended_ ? wake_reason::bytes : wake_reason::end;
    switch (kind) {
        case wait::input:
        case wait::events:
            return io.wake_reason_ == wake_reason::end;
        case wait::write_room:
            return !io.open() || io.unsent() <= io.context_.unsent_bytes_max() / 2;
        case wait::turn:
        case wait::time:
            return !io.open();
        case wait::closed:
            return io.phase_ == phase::closing && !io.in_flight();
    }
    return true;
}

void transport::awaiter::await_suspend(std::coroutine_handle<> waiter) noexcept {
    io.waiter_ = waiter;
    io.waiting_for_ = kind;
    if (kind == wait::turn) io.context_.queues.resume_next_turn(io);
    if (kind == wait::input) io.resume_receiving();
}

void transport::resume(wake_reason reason) {
    wake_reason_ = reason;
    wait_interrupted_ = false;
    read_deadline_ = 0;
    std::exchange(waiter_, nullptr).resume();
}

void transport::resume_later() {
    // What it waits for may have changed since it was queued.
    bool const closed = waiting_for_ == wait::closed && phase_ == phase::closing && !in_flight();
    if (wait_interrupted_ && awaits_client())
        resume(wake_reason::late);
    else if (waiter_ && (waiting_for_ == wait::turn || closed))
        resume(wake_reason::bytes);
}

void transport::interrupt_wait() {
    wait_interrupted_ = true;
    context_.queues.resume_next_turn(*this);
}

// From now on the first request may arrive: the coroutine waits without a limit, and sets one.
void transport::wake_first_wait() {
    if (phase_ == phase::open && waiter_ && waiting_for_ == wait::input && read_deadline_ == 0)
        resume(wake_reason::bytes);
}

void transport::arm_deadline() {
    base::mono_ns soonest = 0;
    for (auto const deadline : {read_deadline_, write_deadline_, end_deadline_})
        if (deadline != 0 && (soonest == 0 || deadline < soonest)) soonest = deadline;
    context_.timers().arm(timer_, soonest);
}

void transport::on_deadline(base::mono_ns now) {
    if (write_deadline_ != 0 && now >= write_deadline_) {
        if (send_.active || has_unread_output()) return reset();
        write_deadline_ = 0;
    }
    if (end_deadline_ != 0 && now >= end_deadline_) {
        if (phase_ != phase::lingering || !has_unread_output()) return begin_close();
        end_deadline_ = now + second;
    }
    if (read_deadline_ != 0 && now >= read_deadline_) {
        read_deadline_ = 0;
        if (awaits_client() || (waiter_ && waiting_for_ == wait::time)) resume(wake_reason::late);
    }
    arm_deadline();
}

void transport::account() {
    output_reserved_ = output_.capacity();
    auto bytes = body_bytes_;
    for (auto const* const each :
         {&kept_input_, &output_, &sealed_output_, &sending_, &sealed_input_})
        bytes += session::heap_bytes(*each);
    if (session_) bytes += session_->held_bytes();
    reserved_.resize(bytes);
    watch_.note(bytes);
}

base::mono_ns transport::seconds_from_now(std::uint64_t seconds) const {
    return base::after(context_.now.mono, seconds);
}

base::mono_ns transport::send_ns() const {
    return static_cast<base::mono_ns>(context_.current_config().http_send_seconds) * second;
}

}  // namespace latchkey::server
