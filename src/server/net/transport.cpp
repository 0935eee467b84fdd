// Each function is called by a completion, the timer or the worker's queues, and may resume the
// coroutine, which then runs to its next wait inside of the call. The beginning of a connection is
// in transport_opening.cpp.
#include "server/net/transport.hpp"

#include <errno.h>

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/time_units.hpp"

namespace latchkey::server {
namespace {

using base::second;
using base::limits::unparsed_bytes_max;

constexpr std::uint64_t linger_seconds = 2;
constexpr base::mono_ns last_check_ns = second / 10;  // for the client's system to acknowledge

transport& owner_of(uring::operation& self) {
    return *static_cast<client_socket::operation&>(self).owner;
}

}  // namespace

transport::transport(worker_context& context, accepted const& socket)
    : context_(context),
      identity_(context, socket),
      socket_(context, socket.fd, *this),
      tls_(context),
      flow_(context, tls_),
      deadlines_(context, *this, [](uring::timers::entry& self, base::mono_ns now) {
          static_cast<client_deadlines::entry&>(self).owner->on_deadline(now);
      }) {
    socket_.receiving.complete = [](uring::operation& self, uring::completion const& cqe) {
        owner_of(self).on_receive(cqe);
    };
    // Only after a request that a key admitted, so that strangers have no page read. Under TLS the
    // request is not readable yet.
    socket_.receiving.prefetch_hint = [](uring::operation& self, uring::completion const& next) {
        auto const& io = owner_of(self);
        bool const is_allowed = io.notes.allows_read_ahead && io.notes.idle && !io.tls_.is_used();
        if (!is_allowed || next.result <= 0 || !next.has_buffer()) return;
        io.context_.ahead.hint(io.context_.buffers().peek(next));
    };
    socket_.sending.complete = [](uring::operation& self, uring::completion const& cqe) {
        owner_of(self).on_send(cqe.result);
    };
    socket_.closing.complete = [](uring::operation& self, uring::completion const&) {
        owner_of(self).check_closed();
    };
    context_.connections.add(*this);
    ready_since_ = context_.now.mono;
    if (socket.proxy)
        begin_proxy_header();
    else if (socket.tls)
        begin_handshake();
    socket_.receive();
}

transport::~transport() {
    base::check(!socket_.in_flight() && !tls_.is_signing(),
                "a transport destroyed while the kernel still uses it");
    context_.queues.forget(*this, dirty_);
    context_.connections.remove(*this);
}

// ---- receiving

void transport::on_receive(uring::completion const& cqe) {
    auto const result = cqe.result;
    if (cqe.has_buffer()) {
        auto const bytes = context_.buffers().view(cqe);
        if (result > 0) receive_bytes({bytes.data(), bytes.size()});
        // Refused or dropped input may hold a credential anywhere; under TLS it is encrypted.
        if (!peer().tls) base::wipe(bytes.data(), bytes.size());
        context_.buffers().release(cqe);
    }
    if (result == 0) {
        // A client that ends without close_notify while nothing is in flight is sent none: it would
        // cost a send that is not read.
        if (notes.idle && flow_.unsent() == 0) tls_.leave_out_end();
        end_input();
    } else if (result == -ENOBUFS) {
        context_.metrics.starved.add();
        if (socket_.starve()) context_.queues.queue_starved(*this);
    } else if (result < 0 && result != -ECANCELED && result != -EINTR && result != -EAGAIN) {
        abort();
    }
    socket_.receive();
    check_closed();
}

void transport::receive_again() {
    socket_.feed();
}

void transport::receive_bytes(std::string_view bytes) {
    if (!open()) {
        // Input before the output has been sent does not count: closing now would cut the output.
        if (socket_.is(phase::lingering) && !socket_.drop(bytes.size())) abort();
        return;
    }
    if (identity_.is_header_due() && !take_proxy_header(bytes)) return;
    if (!tls_.is_used())
        deliver(bytes);
    else if (tls_.is_handshaking())
        take_handshake(bytes);
    else
        decrypt(bytes);
    pause_if_full();
}

void transport::deliver(std::string_view plain) {
    if (!wait_.is_for(wait::input)) return flow_.append_unread(plain);
    flow_.lend_unread(plain);
    resume(wake_reason::bytes);
    flow_.keep_unread();
}

// Flow control: a connection that does not parse at the moment keeps less.
void transport::pause_if_full() {
    if (socket_.is_paused() || !open()) return;
    auto const unread_bytes_max = wait_.is_for(wait::input)
                                      ? unparsed_bytes_max
                                      : std::min(unparsed_bytes_max, context_.unsent_bytes_max());
    bool const is_full =
        flow_.unread().size() > unread_bytes_max || tls_.unread_bytes() > unparsed_bytes_max;
    if (is_full) socket_.pause();
}

void transport::end_input() {
    if (!socket_.end_input()) return;
    if (tls_.is_handshaking())
        abort();
    else if (socket_.is(phase::lingering))
        close_once_read();
    else if (wait_.is_for_client())
        resume(wake_reason::end);
}

// ---- waiting

transport::awaiter transport::until(wait kind, base::mono_ns time) {
    if (kind == wait::input || kind == wait::events) {
        flow_.drop_consumed();
        wait_.forget_interrupt();
    }
    if (kind == wait::input || kind == wait::events || kind == wait::time)
        deadlines_.set(deadline::wait, time);
    return {*this, kind};
}

bool transport::awaiter::await_ready() const noexcept {
    bool const ends = !io.open() || io.socket_.input_ended();
    io.wait_.set_reason(ends ? wake_reason::end : wake_reason::bytes);
    switch (kind) {
        case wait::input:
        case wait::events:
            return ends;
        case wait::room:
            return !io.open() || io.flow_.has_room();
        case wait::turn:
        case wait::time:
            return !io.open();
        case wait::closed:
            return io.is_closed();
        case wait::nothing:
            break;
    }
    return true;
}

void transport::awaiter::await_suspend(std::coroutine_handle<> waiter) noexcept {
    io.wait_.begin(waiter, kind);
    if (kind == wait::turn) io.context_.queues.resume_next_turn(io);
    if (kind == wait::input) io.socket_.resume();
}

void transport::resume(wake_reason reason) {
    deadlines_.drop(deadline::wait);
    wait_.resume(reason);
}

void transport::resume_later() {
    // What it waits for may have changed since it was queued.
    if (wait_.is_interrupted())
        resume(wake_reason::late);
    else if (wait_.is_for(wait::turn) || (wait_.is_for(wait::closed) && is_closed()))
        resume(wake_reason::bytes);
}

void transport::interrupt_wait() {
    wait_.interrupt();
    context_.queues.resume_next_turn(*this);
}

void transport::on_deadline(base::mono_ns now) {
    if (deadlines_.has_passed(deadline::write, now)) {
        if (socket_.sending.active || has_unread_output()) return reset();
        deadlines_.drop(deadline::write);
    }
    if (deadlines_.has_passed(deadline::end, now)) {
        if (!socket_.is(phase::lingering) || !has_unread_output()) return abort();
        deadlines_.set_after(deadline::end, 1);
    }
    if (deadlines_.has_passed(deadline::wait, now)) {
        deadlines_.drop(deadline::wait);
        if (wait_.is_for_client() || wait_.is_for(wait::time)) resume(wake_reason::late);
    }
    deadlines_.arm();
}

// ---- sending

std::string& transport::output() {
    mark_dirty();
    return flow_.output();
}

void transport::mark_dirty() {
    if (std::exchange(dirty_, true)) return;
    context_.queues.mark_dirty(*this);
}

void transport::flush() {
    dirty_ = false;
    if (socket_.is(phase::closing)) return;
    bool const is_last = socket_.is(phase::finishing);
    if (tls_.is_used()) flow_.seal(is_last);
    if (!socket_.sending.active && flow_.load()) send_next();
    if (is_last && !socket_.sending.active && flow_.unsent() == 0) {
        // Both directions are complete: a close says all that a FIN before it would.
        bool const is_over = socket_.input_ended() && !has_unread_output();
        if (!is_over) socket_.linger();
        if (is_over)
            abort();
        else if (socket_.input_ended())
            close_once_read();
        else
            deadlines_.set_after(deadline::end, linger_seconds);
    }
    flow_.account();
}

void transport::send_next() {
    socket_.send(flow_.next_part());
    if (flow_.makes_progress())
        deadlines_.set_after(deadline::write, context_.current_config().http_send_seconds);
}

void transport::on_send(std::int32_t result) {
    if (socket_.is(phase::closing)) return check_closed();
    if (result <= 0 && result != -EINTR && result != -EAGAIN) return abort();
    // The deadline stays behind the last byte: the kernel has taken it, the client perhaps not.
    if (flow_.note_sent(result > 0 ? static_cast<std::size_t>(result) : 0))
        send_next();
    else if (flow_.unsent() != 0 || socket_.is(phase::finishing))
        mark_dirty();
    flow_.account();
    if (wait_.is_for(wait::room) && flow_.has_room()) resume(wake_reason::bytes);
}

// ---- the end

void transport::finish() {
    if (!open()) return;
    socket_.finish();
    deadlines_.drop(deadline::wait);
    flow_.drop_unread();
    mark_dirty();
}

// After a close the kernel keeps what the client has not taken, without a limit of time or memory.
// So the socket stays open until then, or until `on_deadline` resets it.
void transport::close_once_read() {
    if (!has_unread_output()) return abort();
    deadlines_.set(deadline::end, context_.now.mono + last_check_ns);
}

bool transport::has_unread_output() const {
    return deadlines_.is_set(deadline::write) && socket_.has_unread_output();
}

// What only waited goes back now, not when the kernel has closed the socket: whoever is reset for
// what he holds would hold it for as long.
void transport::reset() {
    if (closing()) return;  // its descriptor may be another client's
    socket_.reset_on_close();
    abort();
    tls_.drop();
    flow_.drop_unread();
    flow_.drop_consumed();
    flow_.account();
}

void transport::abort() {
    if (socket_.is(phase::closing)) return;
    deadlines_.clear();
    tls_.cancel_signature();
    socket_.close();
    bool const is_over = wait_.is_for(wait::closed) || wait_.is_for(wait::nothing);
    if (!is_over) resume(wake_reason::end);
}

void transport::end_idle() {
    if (!open()) return;
    if (notes.idle && flow_.unread().empty() && wait_.is_for(wait::input))
        tls_.is_handshaking() ? abort() : resume(wake_reason::end);
    else if (socket_.has_failed())
        abort();
}

void transport::check_closed() {
    // In the next turn: a caller may still use this object.
    if (wait_.is_for(wait::closed) && is_closed()) context_.queues.resume_next_turn(*this);
}

}  // namespace latchkey::server
