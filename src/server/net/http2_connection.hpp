// One client's HTTP/2 connection: drives a session (session/http2.hpp) over a transport, as
// connection.hpp does for HTTP/1.1. Each commit is a coroutine of its own, so a stream that waits
// for one holds up no other; what a read needs is done in the coroutine of the connection.
#pragma once

#include <memory>
#include <vector>

#include "coro/scope.hpp"
#include "coro/task.hpp"
#include "server/net/transport.hpp"
#include "session/http2.hpp"

namespace latchkey::server {

class http2_connection {
  public:
    // Both outlive the connection.
    http2_connection(worker_context& context, transport& io)
        : context_(context), transport_(io), session_(context.sessions, io.peer()) {
        events_.connection = this;
        events_.wake = [](event_waiters::entry& self) {
            auto& connection = *static_cast<event_waiter&>(self).connection;
            connection.session_.wake_events();
            connection.transport_.interrupt_wait();
        };
    }
    http2_connection(http2_connection const&) = delete;
    http2_connection& operator=(http2_connection const&) = delete;

    // Returns when neither side will send anything further and no commit is under way.
    coro::task<> run();

  private:
    using stream_id = session::http2::stream_id;
    // A stream whose body is read for its credential.
    struct unknown_sender : anonymous_requests::entry {
        http2_connection* connection = nullptr;
        stream_id stream = 0;
    };
    struct event_waiter : event_waiters::entry {
        http2_connection* connection = nullptr;
    };

    bool is_half_full() const;
    base::mono_ns begin_wait(session::step const& next);
    session::wake_reason reason_of(session::wake_reason woken, session::step const& next) const;
    static coro::task<> commit(http2_connection* connection, stream_id stream,
                               store::command command);
    static coro::task<> await_tokens(http2_connection* connection, stream_id stream);
    session::server_state state() const;
    session::step advance(session::wake_reason reason);
    session::step write_response();
    void write_pending();
    void account_held();
    bool admits_body();
    unknown_sender* find_sender(stream_id stream);
    void forget_sender(stream_id stream);
    void forget_ended_senders();

    worker_context& context_;
    transport& transport_;
    session::http2 session_;
    std::vector<std::unique_ptr<unknown_sender>> senders_;
    event_waiter events_;
    coro::scope commits_;
};

}  // namespace latchkey::server
