#include "server/net/http2_connection.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "store/writer.hpp"

namespace latchkey::server {

using session::step;
using session::step_kind;
using session::wake_reason;
using wait = transport::wait;

namespace {

constexpr std::size_t large_request_bytes = 4 * base::limits::kib;  // reading it takes a while

}  // namespace

coro::task<> http2_connection::run() {
    auto reason = wake_reason::bytes;
    bool late = false;  // the last step was for a deadline
    bool serving = transport_.open();
    while (serving) {
        auto const next = advance(std::exchange(reason, wake_reason::bytes));
        switch (next.kind) {
            case step_kind::write:  // written by `advance`
            case step_kind::pause:
                late = false;
                if (transport_.flow().unsent() > context_.unsent_bytes_max())
                    co_await transport_.until(wait::room);
                if (next.time > context_.now.mono) co_await transport_.until(wait::time, next.time);
                if (context_.budget.is_spent()) co_await transport_.until(wait::turn);
                serving = transport_.open();
                break;
            case step_kind::read: {
                bool const had_events = session_.has_events();
                write_pending();
                // The last of them may have ended, which makes the connection idle.
                if (had_events && !session_.has_events()) break;
                // Content that waits for the socket, not for a window, goes on when there is room.
                bool const is_full = session_.has_pending() && is_half_full();
                if (is_full || session_.has_sendable()) {
                    is_full ? co_await transport_.until(wait::room)
                            : co_await transport_.until(wait::turn);
                    serving = transport_.open();
                    break;
                }
                auto const deadline = begin_wait(next);
                // Several deadlines may have passed at once: each is a step of its own.
                if (deadline <= context_.now.mono && !std::exchange(late, true)) {
                    reason = wake_reason::late;
                    break;
                }
                late = false;
                wake_reason const woken = co_await transport_.until(wait::input, deadline);
                reason = reason_of(woken, next);
                break;
            }
            case step_kind::grant_body:
                admits_body() ? session_.grant() : session_.deny();
                break;
            case step_kind::commit:
                commits_.spawn(commit, this, session_.current(), session_.take_command());
                if (context_.budget.is_spent()) co_await transport_.until(wait::turn);
                break;
            case step_kind::await_tokens:
                commits_.spawn(await_tokens, this, session_.current());
                break;
            case step_kind::await_turn:
                session_.resume(session_.current());
                co_await transport_.until(wait::turn);
                break;
            case step_kind::write_interim:
            case step_kind::write_events:
            case step_kind::await_events:
            case step_kind::advance:
                break;
            case step_kind::close:
                serving = false;
                break;
        }
    }
    transport_.notes.idle = false;
    context_.events.leave(events_);
    co_await commits_.join();
    write_pending();
    for (auto const& sender : senders_) context_.anonymous.leave(*sender);
}

bool http2_connection::is_half_full() const {
    return transport_.flow().unsent() > context_.unsent_bytes_max() / 2;
}

// The time until which input is awaited; events may end the wait before.
base::mono_ns http2_connection::begin_wait(session::step const& next) {
    bool const has_events = session_.has_events();
    has_events ? context_.events.enter(events_) : context_.events.leave(events_);
    return has_events ? session_.wait_deadline() : next.time;
}

// A worker that drains wakes idle connections: this one says so to its client first.
wake_reason http2_connection::reason_of(wake_reason woken, session::step const& next) const {
    bool const drains = woken == wake_reason::end && next.idle;
    return drains && transport_.open() && context_.drain.gives_notice() ? wake_reason::bytes
                                                                        : woken;
}

coro::task<> http2_connection::commit(http2_connection* connection, stream_id stream,
                                      store::command command) {
    auto& context = connection->context_;
    store::commit commit(context.shared.writer, context.mailbox(), std::move(command));
    store::outcome const& outcome = co_await commit;
    if (!connection->session_.complete(stream, outcome)) {
        connection->transport_.interrupt_wait();
        co_return;
    }
    connection->write_response();
    connection->write_pending();
    // It is idle now, with another deadline, and may have to end.
    if (connection->session_.in_progress() == 0) connection->transport_.interrupt_wait();
}

coro::task<> http2_connection::await_tokens(http2_connection* connection, stream_id stream) {
    co_await connection->context_.wait_for_tokens();
    connection->session_.resume(stream);
    connection->transport_.interrupt_wait();
}

session::server_state http2_connection::state() const {
    return {.now = context_.now,
            .ready_since = transport_.ready_since(),
            .overloaded = context_.overloaded(transport_.flow().held_bytes()),
            .short_of_memory = context_.memory.scarce(),
            .quota = &context_.memory,
            .draining = context_.draining()};
}

step http2_connection::advance(wake_reason reason) {
    auto const next =
        session_.advance(transport_.flow().unread(), reason, state(), transport_.output());
    transport_.flow().consume(next.consumed);
    transport_.notes.idle = next.idle;
    transport_.flow().account_output();
    account_held();
    if (!senders_.empty()) forget_ended_senders();
    if (next.kind == step_kind::commit &&
        std::max(next.consumed, session_.held_bytes()) > large_request_bytes)
        context_.budget.read_clock();
    if (next.kind == step_kind::commit || next.kind == step_kind::await_tokens)
        forget_sender(session_.current());
    return next.kind == step_kind::write ? write_response() : next;
}

step http2_connection::write_response() {
    auto& output = transport_.output();
    auto const size_before = output.size();
    auto const response = session_.write(output, state());
    context_.budget.add_answer(output.size() - size_before);
    transport_.flow().account_output();
    if (response.secret) transport_.flow().mark_secret();
    context_.record(response.stream, transport_.peer());
    forget_sender(session_.current());
    auto const key = response.stream.exchange.key_id();
    auto const next = session_.finish_response();
    account_held();
    transport_.flow().hold_for(key);
    return next;
}

void http2_connection::write_pending() {
    if (!session_.has_pending() || !transport_.open()) return;
    auto const most = context_.unsent_bytes_max();
    auto const unsent = transport_.flow().unsent();
    auto& output = transport_.output();
    auto const size_before = output.size();
    if (unsent < most) session_.write_pending(output, most - unsent, state());
    context_.budget.add_answer(output.size() - size_before);
    context_.budget.read_clock();
    transport_.flow().account_output();
    account_held();
}

void http2_connection::account_held() {
    transport_.flow().reserve_body(session_.held_bytes() + session_.table_bytes());
    transport_.flow().set_pending(session_.pending_bytes());
}

// ---- bodies that are read for their credential

bool http2_connection::admits_body() {
    auto const& stream = session_.stream();
    if (stream.exchange.key_id() != 0) transport_.flow().hold_for(stream.exchange.key_id());
    bool const is_admitted =
        context_.admits_body(transport_.flow().held_bytes(), stream.exchange.key_id());
    if (!stream.exchange.credential_in_body()) return is_admitted;
    auto* const sender = find_sender(session_.current());
    if (sender != nullptr)
        return context_.anonymous.hold(*sender, stream.body.size()) && is_admitted;
    if (!is_admitted) return false;
    auto& entered = *senders_.emplace_back(std::make_unique<unknown_sender>());
    entered.connection = this;
    entered.stream = session_.current();
    entered.drop = [](anonymous_requests::entry& self) {
        auto& sender = static_cast<unknown_sender&>(self);
        sender.connection->session_.give_up(sender.stream);
        sender.connection->transport_.interrupt_wait();
    };
    context_.anonymous.enter(entered, stream.exchange.client());
    return true;
}

http2_connection::unknown_sender* http2_connection::find_sender(stream_id stream) {
    for (auto const& sender : senders_)
        if (sender->stream == stream) return sender.get();
    return nullptr;
}

void http2_connection::forget_sender(stream_id stream) {
    std::erase_if(senders_, [&](std::unique_ptr<unknown_sender> const& sender) {
        if (sender->stream != stream) return false;
        context_.anonymous.leave(*sender);
        return true;
    });
}

// Their clients have reset them.
void http2_connection::forget_ended_senders() {
    std::erase_if(senders_, [&](std::unique_ptr<unknown_sender> const& sender) {
        if (session_.is_reading(sender->stream)) return false;
        context_.anonymous.leave(*sender);
        return true;
    });
}

}  // namespace latchkey::server
