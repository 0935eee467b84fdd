// The coroutine loops: it asks the session for a step, carries it out by awaiting the transport or
// the writer, and tells the session why it woke. The first bytes decide which protocol it is, and
// HTTP/2 gets a coroutine with a frame of its own, so that no connection of HTTP/1.1 pays for it.
// The loop is a template over the session, so that no step costs a call by pointer.
#include "server/net/connection.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/limits.hpp"
#include "base/time_units.hpp"
#include "domain/writer.hpp"
#include "runtime/coro/task_scope.hpp"
#include "session/http1.hpp"
#include "session/http2.hpp"
#include "wire/http2/frame.hpp"

namespace latchkey::server {
namespace {

using session::step;
using session::step_kind;
using session::stream_id;
using session::wake_reason;
using wait = transport::wait;

constexpr std::size_t large_body_bytes = 4 * base::limits::kib;  // reading it takes a while

// Drives a session over a transport. Where requests are side by side, each wait of one of them is a
// coroutine of its own, so that it holds up no other; what a read needs is done in this one.
template <session::protocol_session Session>
class connection {
  public:
    // Both outlive the connection.
    connection(worker_context& context, transport& io)
        : context_(context), transport_(io), session_(context.sessions, io.peer()) {
        events_.owner = this;
        events_.wake = [](event_waiters::entry& self) {
            auto& owner = *static_cast<event_waiter&>(self).owner;
            owner.session_.wake_events();
            owner.transport_.interrupt_wait();
        };
    }
    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;

    // Returns when neither side will send anything further and no request is in hand.
    coro::task<> run();

  private:
    // A stream whose body is read for its credential.
    struct unknown_sender : anonymous_requests::entry {
        connection* owner = nullptr;
        stream_id stream = 0;
    };
    struct event_waiter : event_waiters::entry {
        connection* owner = nullptr;
    };

    // What a step `read` waits for.
    struct read_wait {
        wait kind = wait::nothing;
        base::mono_ns deadline = 0;
    };

    step advance(wake_reason reason);
    std::optional<step> write(session::server_state const& state);
    void write_pending();
    void account_held();
    session::server_state state() const;

    bool ends_idle(step const& next) const;
    read_wait begin_read(step const& next);
    void end_read(wake_reason woken, step const& next);
    domain::command take_command();
    static coro::task<> commit(connection* self, stream_id stream, domain::command command);
    static coro::task<> await_tokens(connection* self, stream_id stream);

    bool admits_body();
    unknown_sender& take_sender();
    unknown_sender* find_sender(stream_id stream);
    void forget_senders(auto is_over);
    void forget_sender(stream_id stream) {
        forget_senders([=](unknown_sender const& each) { return each.stream == stream; });
    }
    // Their clients have reset them.
    void forget_ended_senders() {
        forget_senders(
            [this](unknown_sender const& each) { return !session_.is_reading(each.stream); });
    }

    worker_context& context_;
    transport& transport_;
    Session session_;
    wake_reason reason_ = wake_reason::bytes;  // of the next step
    bool is_late_ = false;                     // the last step was for a deadline
    unknown_sender first_sender_;
    std::vector<std::unique_ptr<unknown_sender>> further_senders_;
    event_waiter events_;
    coro::scope waits_;
};

template <session::protocol_session Session>
coro::task<> connection<Session>::run() {
    bool serving = transport_.open();
    while (serving) {
        auto const next = advance(std::exchange(reason_, wake_reason::bytes));
        switch (next.kind) {
            case step_kind::pause:
                is_late_ = false;
                if (transport_.flow().unsent() > context_.unsent_bytes_max())
                    co_await transport_.until(wait::room);
                if (next.time > context_.now.mono) co_await transport_.until(wait::time, next.time);
                if (context_.budget.is_spent()) co_await transport_.until(wait::turn);
                serving = transport_.open();
                break;
            case step_kind::read: {
                serving = !ends_idle(next);
                if (!serving) break;
                auto const read = begin_read(next);
                if (read.kind == wait::nothing) break;
                wake_reason const woken = co_await transport_.until(read.kind, read.deadline);
                if (read.kind == wait::input || read.kind == wait::events)
                    end_read(woken, next);
                else
                    serving = transport_.open();
                break;
            }
            case step_kind::grant_body:
                admits_body() ? session_.grant() : session_.deny();
                break;
            case step_kind::commit:
                if constexpr (Session::is_multiplexed) {
                    waits_.spawn(commit, this, session_.current(), take_command());
                    if (context_.budget.is_spent()) co_await transport_.until(wait::turn);
                } else {
                    domain::commit commit(context_.shared.writer, context_.mailbox(),
                                          take_command());
                    domain::outcome const& outcome = co_await commit;
                    session_.complete(session_.current(), outcome);
                }
                break;
            case step_kind::await_tokens:
                if constexpr (Session::is_multiplexed) {
                    waits_.spawn(await_tokens, this, session_.current());
                } else {
                    co_await context_.wait_for_tokens();
                    session_.resume(session_.current());
                }
                break;
            case step_kind::await_turn:
                session_.resume(session_.current());
                co_await transport_.until(wait::turn);
                break;
            case step_kind::write:  // done by `advance`
                break;
            case step_kind::close:
                serving = false;
                break;
        }
    }
    context_.events.leave(events_);
    co_await waits_.join();
    write_pending();
    forget_senders([](unknown_sender const&) { return true; });
}

// ---- steps

template <session::protocol_session Session>
step connection<Session>::advance(wake_reason reason) {
    for (;; reason = wake_reason::bytes) {
        auto const server = state();
        auto& control = context_.control_scratch;
        auto const next = session_.advance(transport_.flow().unread(), reason, server, control);
        transport_.flow().consume(next.consumed);
        transport_.notes.idle = next.idle;
        if (!control.empty()) {
            transport_.output().append(control);
            control.clear();
            transport_.flow().account_output();
        }
        account_held();
        forget_ended_senders();
        bool const has_request = next.kind == step_kind::write || next.kind == step_kind::commit ||
                                 next.kind == step_kind::await_tokens;
        if (has_request) {
            forget_sender(session_.current());
            if (std::max(next.consumed, session_.held_bytes()) > large_body_bytes)
                context_.budget.read_clock();
        }
        if (next.kind != step_kind::write) return next;
        if (auto const following = write(server)) return *following;
    }
}

template <session::protocol_session Session>
std::optional<step> connection<Session>::write(session::server_state const& state) {
    auto& flow = transport_.flow();
    auto& output = transport_.output();
    auto const size_before = output.size();
    auto const part = session_.write(output, state);
    context_.budget.add_answer(output.size() - size_before);
    flow.account_output();
    if (part.secret) flow.mark_secret();
    if (part.response != nullptr) {
        context_.record(*part.response, transport_.peer());
        // What is multiplexed comes in frames, into which nobody looks ahead.
        transport_.notes.allows_read_ahead = part.admitted && !Session::is_multiplexed;
    } else {
        context_.budget.read_clock();
    }
    auto const next = session_.finish_write();
    account_held();
    if (part.response != nullptr || part.key != 0) flow.hold_for(part.key);
    return next;
}

template <session::protocol_session Session>
void connection<Session>::write_pending() {
    if (!session_.has_pending() || !transport_.open()) return;
    auto const bytes_max = context_.unsent_bytes_max();
    auto const unsent_bytes = transport_.flow().unsent();
    auto& output = transport_.output();
    auto const size_before = output.size();
    if (unsent_bytes < bytes_max) session_.write_pending(output, bytes_max - unsent_bytes, state());
    context_.budget.add_answer(output.size() - size_before);
    context_.budget.read_clock();
    transport_.flow().account_output();
    account_held();
}

template <session::protocol_session Session>
void connection<Session>::account_held() {
    transport_.flow().reserve_body(session_.held_bytes() + session_.table_bytes());
    transport_.flow().set_pending(session_.pending_bytes());
}

template <session::protocol_session Session>
session::server_state connection<Session>::state() const {
    return {.now = context_.now,
            .ready_since = transport_.ready_since(),
            .overloaded = context_.overloaded(transport_.flow().held_bytes()),
            .short_of_memory = context_.memory.scarce(),
            .quota = &context_.memory,
            .draining = context_.draining()};
}

// ---- waits

// A worker that drains ends idle connections, unless they say so to their clients first.
template <session::protocol_session Session>
bool connection<Session>::ends_idle(step const& next) const {
    return next.idle && !transport_.notes.notifies && context_.drain.ends_idle();
}

// Once all that can be written was written. `nothing`: there is another step at once.
template <session::protocol_session Session>
connection<Session>::read_wait connection<Session>::begin_read(step const& next) {
    bool const had_events = session_.has_events();
    write_pending();
    // The last of them may have ended, which makes the connection idle.
    if (had_events && !session_.has_events()) return {};
    // Content that waits for the socket, not for a window, goes on when there is room.
    if (session_.has_pending() && !transport_.flow().has_room()) return {wait::room};
    if (session_.has_sendable()) return {wait::turn};
    bool const has_events = session_.has_events();
    has_events ? context_.events.enter(events_) : context_.events.leave(events_);
    auto const deadline = has_events ? session_.wait_deadline() : next.time;
    // Several deadlines may have passed at once: each is a step of its own.
    bool const has_passed = Session::is_multiplexed && deadline <= context_.now.mono;
    if (has_passed && !std::exchange(is_late_, true)) {
        reason_ = wake_reason::late;
        return {};
    }
    is_late_ = false;
    return {next.takes_input ? wait::input : wait::events, deadline};
}

template <session::protocol_session Session>
void connection<Session>::end_read(wake_reason woken, step const& next) {
    // A session with one stream looks for events itself, whenever it is advanced.
    if (!Session::is_multiplexed) context_.events.leave(events_);
    // A worker that drains wakes idle connections: this one says so to its client first.
    bool const drains = woken == wake_reason::end && next.idle && transport_.notes.notifies;
    bool const goes_on = drains && transport_.open() && context_.drain.gives_notice();
    reason_ = goes_on ? wake_reason::bytes : woken;
}

// Until its outcome a command is held in the place of the request.
template <session::protocol_session Session>
domain::command connection<Session>::take_command() {
    auto command = session_.take_command();
    account_held();
    return command;
}

template <session::protocol_session Session>
coro::task<> connection<Session>::commit(connection* self, stream_id stream,
                                         domain::command command) {
    auto& context = self->context_;
    domain::commit commit(context.shared.writer, context.mailbox(), std::move(command));
    domain::outcome const& outcome = co_await commit;
    if (!self->session_.complete(stream, outcome)) {
        self->transport_.interrupt_wait();
        co_return;
    }
    self->write(self->state());
    self->write_pending();
    // It is idle now, with another deadline, and may have to end.
    if (self->session_.in_progress() == 0) self->transport_.interrupt_wait();
}

template <session::protocol_session Session>
coro::task<> connection<Session>::await_tokens(connection* self, stream_id stream) {
    co_await self->context_.wait_for_tokens();
    self->session_.resume(stream);
    self->transport_.interrupt_wait();
}

// ---- bodies that are read for their credential

// Asked before a body is read, and again before more of it is awaited.
template <session::protocol_session Session>
bool connection<Session>::admits_body() {
    auto const& stream = session_.stream();
    auto const key = stream.exchange.key_id();
    if (key != 0) transport_.flow().hold_for(key);
    bool const is_admitted = context_.admits_body(transport_.flow().held_bytes(), key);
    if (!stream.exchange.credential_in_body()) return is_admitted;
    if (auto* const sender = find_sender(session_.current()); sender != nullptr)
        return context_.anonymous.hold(*sender, stream.body.size()) && is_admitted;
    if (!is_admitted) return false;
    auto& sender = take_sender();
    sender.owner = this;
    sender.stream = session_.current();
    sender.drop = [](anonymous_requests::entry& self) {
        auto& dropped_sender = static_cast<unknown_sender&>(self);
        dropped_sender.owner->session_.give_up(dropped_sender.stream);
        dropped_sender.owner->transport_.interrupt_wait();
    };
    context_.anonymous.enter(sender, stream.exchange.client());
    return true;
}

// The first needs no memory of its own.
template <session::protocol_session Session>
connection<Session>::unknown_sender& connection<Session>::take_sender() {
    if (!first_sender_.waits) return first_sender_;
    return *further_senders_.emplace_back(std::make_unique<unknown_sender>());
}

template <session::protocol_session Session>
connection<Session>::unknown_sender* connection<Session>::find_sender(stream_id stream) {
    if (first_sender_.waits && first_sender_.stream == stream) return &first_sender_;
    for (auto const& sender : further_senders_)
        if (sender->stream == stream) return sender.get();
    return nullptr;
}

template <session::protocol_session Session>
void connection<Session>::forget_senders(auto is_over) {
    if (first_sender_.waits && is_over(first_sender_)) context_.anonymous.leave(first_sender_);
    std::erase_if(further_senders_, [&](std::unique_ptr<unknown_sender> const& sender) {
        if (!is_over(*sender)) return false;
        context_.anonymous.leave(*sender);
        return true;
    });
}

// ---- the protocol

enum class protocol : std::uint8_t { unknown, perhaps_http2, http1, http2 };

// By ALPN (RFC 9113 §3.2) or, without TLS, by the preface of a client that knows (§3.3).
protocol find_protocol(worker_context const& context, transport& io) {
    auto const input = io.flow().unread();
    if (input.empty()) return protocol::unknown;
    auto const negotiated = io.tls().negotiated();
    if (negotiated == client_tls::alpn::http2) return protocol::http2;
    bool const is_enabled = context.sessions.configuration->http2.enabled;
    if (!is_enabled || negotiated == client_tls::alpn::http1) return protocol::http1;
    auto const part = input.substr(0, http2::preface.size());
    if (!http2::preface.starts_with(part)) return protocol::http1;
    return part.size() == http2::preface.size() ? protocol::http2 : protocol::perhaps_http2;
}

// A coroutine of its own: the state of HTTP/2 is no part of an HTTP/1.1 connection's frame.
coro::task<> serve_http2(worker_context* context, transport* io) {
    context->metrics.http2_connections.add();
    io->notes.notifies = true;
    connection<session::http2> client(*context, *io);
    co_await client.run();
}

}  // namespace

coro::task<> serve(worker_context* context, accepted socket) {
    transport io(*context, socket);
    auto language = protocol::unknown;
    for (bool waits = io.open(); waits;) {
        language = find_protocol(*context, io);
        bool const is_silent = language == protocol::unknown;
        waits = is_silent ? !context->drain.ends_idle() : language == protocol::perhaps_http2;
        if (!waits) break;
        auto const limit =
            base::after(io.ready_since(), context->sessions.configuration->header_seconds);
        wake_reason const woken = co_await io.until(wait::input, io.opening() ? 0 : limit);
        waits = woken == wake_reason::bytes;
        if (!waits && !is_silent) language = protocol::http1;
    }
    if (language == protocol::http1) {
        connection<session::http1> client(*context, io);
        co_await client.run();
    } else if (language == protocol::http2) {
        co_await serve_http2(context, &io);
    }
    io.finish();
    co_await io.until(wait::closed);
}

}  // namespace latchkey::server
