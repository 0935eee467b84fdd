// One client's connection as two streams of plain bytes, whatever is spoken over them: what happens
// when, from the PROXY header and the handshake to an orderly end. Its parts do the work: the
// socket (client_socket.hpp), TLS over it (client_tls.hpp), and what flows through both
// (client_flow.hpp). Owned by its connection's coroutine, the only one that awaits it; belongs to
// its worker's thread.
//
//     while (parse(io.flow().unread()) == incomplete)
//         if (co_await io.until(wait::input, deadline) != wake_reason::bytes) …
//     io.flow().consume(count);
//     io.output().append(…);     // sent at the end of the turn, or when the send before is done
//     io.flow().account_output();
//     io.finish();               // nothing more will be written
//     co_await io.until(wait::closed);   // last: the kernel holds nothing of it any more
#pragma once

#include <coroutine>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/net/client_deadlines.hpp"
#include "server/net/client_flow.hpp"
#include "server/net/client_identity.hpp"
#include "server/net/client_socket.hpp"
#include "server/net/client_tls.hpp"
#include "server/net/client_wait.hpp"
#include "server/worker_context.hpp"

namespace latchkey::server {

class transport {
  public:
    using wait = client_wait::kind;
    using wake_reason = session::wake_reason;

    transport(worker_context& context, accepted const& socket);
    ~transport();

    api::peer const& peer() const { return identity_.peer(); }
    client_tls const& tls() const { return tls_; }
    client_flow& flow() { return flow_; }
    // A PROXY header or a handshake is in progress; each has a time limit of its own.
    bool opening() const { return identity_.is_header_due() || tls_.is_handshaking(); }
    // When the client could first send a request: the accept, or the end of those two.
    base::mono_ns ready_since() const { return ready_since_; }
    // False once it has ended: no output can reach the client.
    bool open() const { return socket_.is(phase::open); }
    // Closed or reset; what it still holds goes when its last operation is done.
    bool closing() const { return socket_.is(phase::closing); }

    struct awaiter {
        transport& io;
        wait kind;
        bool await_ready() const noexcept;
        void await_suspend(std::coroutine_handle<> waiter) noexcept;
        wake_reason await_resume() const noexcept { return io.wait_.reason(); }
    };
    // Suspends until that has come (`bytes`), the client has ended its output (`end`), or the
    // deadline has passed (`late`; 0: none). Only `input`, `events` and `time` have a deadline.
    awaiter until(wait kind, base::mono_ns deadline = 0);
    // Ends a wait for input or events with `late`, in the worker's next turn.
    void interrupt_wait();
    // The output of `flow`, which is sent at the end of the turn.
    std::string& output();

    // No further output: sends what there is, then closes in order.
    void finish();
    // Closes at once; unsent output is dropped.
    void abort();
    // Closes at once; what the kernel has for the client is dropped too.
    void reset();
    // When the worker drains: wakes the coroutine of an idle connection with `end`, and closes a
    // broken one.
    void end_idle();

    // What its session lets the worker know.
    struct session_notes {
        bool idle = true;       // no part of a request is here; a draining worker ends those
        bool notifies = false;  // its protocol tells the client that the connection will end
        bool allows_read_ahead = false;  // into the next request (read_ahead.hpp)
    };
    session_notes notes;

    // For turn_queues.
    void flush();           // seals and sends the output of the turn
    void handshake_step();  // one step; the worker rations them
    void receive_again();   // there are buffers again
    void resume_later();    // waits for `turn` and `closed`, and those that were interrupted

    // For connection_table and turn_queues.
    transport* next_open = nullptr;
    transport** open_link = nullptr;
    transport* next_dirty = nullptr;

  private:
    using phase = client_socket::phase;
    using deadline = client_deadlines::kind;

    void on_receive(uring::completion const& cqe);
    void receive_bytes(std::string_view bytes);
    void begin_proxy_header();
    bool take_proxy_header(std::string_view& bytes);
    void begin_handshake();
    void take_handshake(std::string_view sealed);
    void decrypt(std::string_view sealed);
    void deliver(std::string_view plain);
    void pause_if_full();
    void end_input();
    void resume(wake_reason reason);
    void wake_first_wait();
    void mark_dirty();
    void send_next();
    void on_send(std::int32_t result);
    void close_once_read();
    bool has_unread_output() const;
    bool is_closed() const {
        return socket_.is(phase::closing) && !socket_.in_flight() && !tls_.is_signing();
    }
    void check_closed();
    void on_deadline(base::mono_ns now);

    worker_context& context_;
    client_identity identity_;
    client_socket socket_;
    client_tls tls_;
    client_flow flow_;
    client_deadlines deadlines_;
    client_wait wait_;
    bool dirty_ = false;
    base::mono_ns ready_since_ = 0;
};

}  // namespace latchkey::server
