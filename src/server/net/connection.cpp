// The coroutine loops: it asks the session for a step, carries it out by awaiting the transport or
// the writer, and tells the session why it woke. The first bytes decide which protocol it is, and
// HTTP/2 gets a coroutine with a frame of its own, so that no connection of HTTP/1.1 pays for it.
#include "server/net/connection.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "base/time_units.hpp"
#include "http2/frame.hpp"
#include "server/net/http2_connection.hpp"
#include "session/http1.hpp"
#include "store/writer.hpp"

namespace latchkey::server {
namespace {

using session::step;
using session::step_kind;
using session::wake_reason;
using wait = transport::wait;

constexpr std::size_t large_body_bytes = 4 * base::limits::kib;  // reading it takes a while

// Drives a session over a transport: carries out what each step asks for.
class connection {
  public:
    connection(worker_context& context, transport& io)
        : context_(context), transport_(io), session_(context.sessions, io.peer()) {
        sender_.io = &transport_;
        events_.io = &transport_;
        events_.wake = [](event_waiters::entry& self) {
            static_cast<event_waiter&>(self).io->interrupt_wait();
        };
        sender_.drop = [](anonymous_requests::entry& self) {
            static_cast<unknown_sender&>(self).io->interrupt_wait();
        };
    }
    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;

    coro::task<> run();
    // The client speaks HTTP/2; nothing was consumed.
    bool found_http2() const { return protocol_ == protocol::http2; }

  private:
    enum class protocol : std::uint8_t { unknown, perhaps_http2, http1, http2 };

    void find_protocol();
    base::mono_ns preface_deadline() const;
    step advance(wake_reason reason);
    step write_response(session::server_state const& state);
    store::command take_command();
    bool admits_body();

    worker_context& context_;
    transport& transport_;
    session::http1 session_;
    // A request whose body is read for its credential.
    struct unknown_sender : anonymous_requests::entry {
        transport* io = nullptr;
    } sender_;
    struct event_waiter : event_waiters::entry {
        transport* io = nullptr;
    } events_;
    protocol protocol_ = protocol::unknown;
};

coro::task<> connection::run() {
    auto reason = wake_reason::bytes;
    bool serving = transport_.open();
    while (serving) {
        if (protocol_ != protocol::http1) {
            find_protocol();
            if (protocol_ == protocol::http2) co_return;
            if (protocol_ == protocol::perhaps_http2) {
                wake_reason const woken =
                    co_await transport_.until(wait::input, preface_deadline());
                if (woken != wake_reason::bytes) protocol_ = protocol::http1;
                continue;
            }
        }
        auto const next = advance(std::exchange(reason, wake_reason::bytes));
        switch (next.kind) {
            case step_kind::pause:
                if (transport_.flow().unsent() > context_.unsent_bytes_max())
                    co_await transport_.until(wait::room);
                if (next.time > context_.now.mono) co_await transport_.until(wait::time, next.time);
                if (context_.budget.is_spent()) co_await transport_.until(wait::turn);
                serving = transport_.open();
                break;
            case step_kind::read: {
                serving = !next.idle || !context_.drain.ends_idle();
                if (!serving) break;
                bool const anonymous = sender_.waits;
                auto const deadline = transport_.opening() ? 0 : next.time;
                wake_reason const woken = co_await transport_.until(wait::input, deadline);
                reason = woken;
                if (anonymous && !sender_.waits) session_.deny();
                break;
            }
            case step_kind::grant_body:
                admits_body() ? session_.grant() : session_.deny();
                break;
            case step_kind::commit: {
                store::commit commit(context_.shared.writer, context_.mailbox(), take_command());
                store::outcome const& outcome = co_await commit;
                session_.complete(outcome);
                break;
            }
            case step_kind::await_tokens:
                co_await context_.wait_for_tokens();
                session_.resume();
                break;
            case step_kind::await_turn:
                co_await transport_.until(wait::turn);
                session_.resume();
                break;
            case step_kind::write_interim:
                session_.write_interim(transport_.output());
                break;
            case step_kind::await_events: {
                context_.events.enter(events_);
                wake_reason const woken = co_await transport_.until(wait::events, next.time);
                context_.events.leave(events_);
                reason = woken;
                break;
            }
            case step_kind::write:  // done by `advance`
            case step_kind::write_events:
            case step_kind::advance:
                break;
            case step_kind::close:
                serving = false;
                break;
        }
    }
}

// By ALPN (RFC 9113 §3.2) or, without TLS, by the preface of a client that knows (§3.3).
void connection::find_protocol() {
    auto const input = transport_.flow().unread();
    if (input.empty()) return;
    auto const negotiated = transport_.tls().negotiated();
    if (negotiated == client_tls::alpn::http2) {
        protocol_ = protocol::http2;
        return;
    }
    bool const enabled = context_.sessions.configuration->http2.enabled;
    if (!enabled || negotiated == client_tls::alpn::http1) {
        protocol_ = protocol::http1;
        return;
    }
    auto const part = input.substr(0, http2::preface.size());
    if (!http2::preface.starts_with(part))
        protocol_ = protocol::http1;
    else if (part.size() == http2::preface.size())
        protocol_ = protocol::http2;
    else
        protocol_ = protocol::perhaps_http2;
}

base::mono_ns connection::preface_deadline() const {
    auto const seconds = context_.sessions.configuration->header_seconds;
    return base::after(transport_.ready_since(), seconds);
}

step connection::advance(wake_reason reason) {
    session::server_state const state{
        .now = context_.now,
        .ready_since = transport_.ready_since(),
        .overloaded = context_.overloaded(transport_.flow().held_bytes()),
        .short_of_memory = context_.memory.scarce(),
        .quota = &context_.memory,
        .draining = context_.draining()};
    auto const next = session_.advance(transport_.flow().unread(), reason, state);
    transport_.flow().consume(next.consumed);
    transport_.notes.idle = next.idle;
    if (auto const bytes = session_.held_bytes(); bytes != 0) transport_.flow().reserve_body(bytes);
    if (next.kind == step_kind::write_events) {
        auto& output = transport_.output();
        auto const size_before = output.size();
        auto const following = session_.write_events(output, state);
        context_.budget.add_answer(output.size() - size_before);
        context_.budget.read_clock();
        transport_.flow().account_output();
        if (auto const key = session_.events_key(); key != 0) transport_.flow().hold_for(key);
        return following;
    }
    bool const has_request = next.kind == step_kind::write || next.kind == step_kind::commit ||
                             next.kind == step_kind::await_tokens;
    if (!has_request) return next;
    if (sender_.waits) context_.anonymous.leave(sender_);
    if (std::max(next.consumed, session_.held_bytes()) > large_body_bytes)
        context_.budget.read_clock();
    return next.kind == step_kind::write ? write_response(state) : next;
}

step connection::write_response(session::server_state const& state) {
    auto const response = session_.write(transport_.output(), state);
    transport_.flow().account_output();
    transport_.flow().hold_for(response.stream.exchange.key_id());
    if (response.secret) transport_.flow().mark_secret();
    context_.budget.add_answer(response.stream.entry.bytes_out);
    context_.record(response.stream, transport_.peer());
    transport_.notes.allows_read_ahead = response.admitted;
    auto const next = session_.finish_response();
    transport_.flow().reserve_body(0);
    return next;
}

// Until its outcome a command is held beside the request.
store::command connection::take_command() {
    auto command = session_.take_command();
    transport_.flow().reserve_body(session_.held_bytes() + command.bytes());
    return command;
}

// Asked before a body is read, and again before more of it is awaited.
bool connection::admits_body() {
    auto const& stream = session_.stream();
    if (stream.exchange.key_id() != 0) transport_.flow().hold_for(stream.exchange.key_id());
    bool const is_admitted =
        context_.admits_body(transport_.flow().held_bytes(), stream.exchange.key_id());
    if (!stream.exchange.credential_in_body()) return is_admitted;
    if (sender_.waits) return context_.anonymous.hold(sender_, stream.body.size()) && is_admitted;
    if (!is_admitted) return false;
    context_.anonymous.enter(sender_, stream.exchange.client());
    return true;
}

}  // namespace

// A coroutine of its own: the state of HTTP/2 is no part of an HTTP/1.1 connection's frame.
static coro::task<> serve_http2(worker_context* context, transport* io) {
    context->metrics.http2_connections.add();
    io->notes.notifies = true;
    http2_connection client(*context, *io);
    co_await client.run();
}

coro::task<> serve(worker_context* context, accepted socket) {
    transport io(*context, socket);
    bool speaks_http2 = false;
    {
        connection client(*context, io);
        co_await client.run();
        speaks_http2 = client.found_http2();
    }
    if (speaks_http2) co_await serve_http2(context, &io);
    io.finish();
    co_await io.until(transport::wait::closed);
}

}  // namespace latchkey::server
