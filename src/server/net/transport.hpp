// One client's socket as two streams of plain bytes: TLS, the PROXY header, receiving with flow
// control, sending, deadlines and an orderly end are in here; HTTP is not. Owned by its
// connection's coroutine, the only one that awaits it; belongs to its worker's thread.
//
//     while (parse(io.unread()) == incomplete)
//         if (co_await io.read_more(deadline) != wake_reason::bytes) …
//     io.consume(count);
//     io.output().append(…);     // sent at the end of the turn, or when the send before is done
//     io.account_output();
//     io.finish();               // nothing more will be written
//     co_await io.closed();      // last: the kernel holds nothing of it any more
//
// Views of `unread` hold until the coroutine next suspends or consumes.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/exchange/exchange.hpp"
#include "coro/executor.hpp"
#include "server/net/memory_holders.hpp"
#include "server/worker_context.hpp"
#include "session/step.hpp"
#include "tls/session.hpp"
#include "uring/operation.hpp"
#include "uring/timers.hpp"

namespace latchkey::server {

// A socket that was accepted.
struct accepted {
    int fd = -1;
    bool tls = false;
    bool proxy = false;                             // a PROXY header precedes everything
    std::optional<model::address> counted_address;  // as it has entered address_counts
};

// The peer of a socket; its `client` is nullopt when it has gone already.
api::peer peer_of(int fd, bool tls);

class transport {
  public:
    transport(worker_context& context, accepted const& socket);
    ~transport();
    transport(transport const&) = delete;
    transport& operator=(transport const&) = delete;

    // The client; behind a proxy the one that the PROXY header names, from its last byte on.
    api::peer const& peer() const { return peer_; }
    std::optional<model::address> const& counted_address() const { return counted_address_; }

    // Input that was received and not consumed.
    std::string_view unread() const { return unread_; }
    void consume(std::size_t bytes);
    std::uint64_t received() const { return received_; }
    // A PROXY header or a handshake is in progress; each has a time limit of its own.
    bool opening() const { return proxy_header_due_ || handshaking_; }
    // When the client could first send a request: the accept, or the end of those two.
    base::mono_ns ready_since() const { return ready_since_; }

    // What ALPN selected (RFC 9113 §3.2), once bytes have arrived. Without TLS a client may speak
    // HTTP/2 too, by prior knowledge.
    enum class alpn : std::uint8_t { absent, http1, http2 };
    alpn negotiated() const {
        if (!session_) return alpn::absent;
        return session_->selected_http2() ? alpn::http2 : alpn::http1;
    }

    using wake_reason = session::wake_reason;
    enum class wait : std::uint8_t { input, events, write_room, turn, time, closed };
    struct awaiter {
        transport& io;
        wait kind;
        bool await_ready() const noexcept;
        void await_suspend(std::coroutine_handle<> waiter) noexcept;
        wake_reason await_resume() const noexcept { return io.wake_reason_; }
    };
    // Until more input arrives (`bytes`), the client has ended its output (`end`), or the deadline
    // passes (`late`; 0: none).
    awaiter read_more(base::mono_ns deadline);
    // The same, but bytes that arrive do not end it; they are kept, within a bound.
    awaiter await_events(base::mono_ns deadline);
    // Until less than half of what may be unsent is unsent, or the connection ends.
    awaiter write_room();
    // Until the worker's next turn: other connections go first.
    awaiter next_turn();
    // Until that time, up to 64 ms later, whatever arrives meanwhile, or until the connection ends.
    awaiter sleep_until(base::mono_ns time);
    // Until no operation is in flight; only after `finish` or `abort`.
    awaiter closed();

    // Where output is appended; it is sent at the end of the turn. Call `account_output` after it,
    // so that the memory budget counts it before the next request.
    std::string& output();
    void account_output() {
        if (output_.capacity() != output_reserved_) account();
    }
    // Ends a wait for input or events with `late`, in the worker's next turn.
    void interrupt_wait();
    // The output holds a secret: from now on this connection's buffers are wiped after use.
    void mark_secret() { secret_ = true; }
    std::size_t unsent() const {
        return output_.size() + sealed_output_.size() + sending_.size() - sent_bytes_;
    }
    // False once it has ended: no output can reach the client.
    bool open() const { return phase_ == phase::open; }
    // No request and no part of one has arrived; a draining worker ends such connections.
    void set_idle(bool idle) { idle_ = idle; }
    bool idle() const { return idle_; }
    // Its protocol tells the client that the connection is about to end.
    void set_notifies(bool notifies) { notifies_ = notifies; }
    bool notifies() const { return notifies_; }
    // Whether the worker may look into the next request before it runs (read_ahead.hpp).
    void allow_read_ahead(bool allowed) { read_ahead_allowed_ = allowed; }

    // No further output: sends what there is, then closes in order (RFC 9112 §9.6).
    void finish();
    // Closes at once; unsent output is dropped.
    void abort();
    // When the worker drains: wakes the coroutine of an idle connection with `end`, and closes a
    // broken one.
    void end_idle();
    // Memory that the client has the service hold.
    std::size_t held_bytes() const { return reserved_.bytes(); }
    // While memory is scarce, now and again.
    holder_watch::standing look(std::size_t share, base::mono_ns now) {
        return watch_.look(held_bytes(), unsent() + pending_bytes_, taken_bytes_, share, now);
    }
    // Whose it is: the key's that was last shown, the client's address, or its own.
    std::uint64_t owner() const;
    // The key of a response. Only what is more than buffers of small ones counts for it, so that a
    // connection with many keys costs nothing.
    void hold_for(model::id key) {
        if (held_bytes() > 2 * base::limits::unparsed_bytes_max)
            reserved_.belong_to(static_cast<std::uint64_t>(key));
    }
    // Of what is held, content that waits for a window of the client's protocol.
    void set_pending(std::size_t bytes) { pending_bytes_ = bytes; }
    // Closes at once; what the kernel has for the client is dropped too.
    void reset();
    // Heap memory of a request in hand, for the memory budget.
    void reserve_body(std::size_t bytes) {
        if (bytes == body_bytes_) return;
        body_bytes_ = bytes;
        account();
    }

    // For turn_queues.
    void flush();           // seals and sends the output of the turn
    void handshake_step();  // one step; the worker rations them
    void receive_again();   // there are buffers again
    void resume_later();    // `next_turn`, `closed` and `interrupt_wait`

    // For connection_table and turn_queues.
    transport* next_open = nullptr;
    transport** open_link = nullptr;
    transport* next_dirty = nullptr;

  private:
    enum class phase : std::uint8_t { open, finishing, lingering, closing };

    struct socket_operation : uring::operation {
        transport* io = nullptr;
    };
    struct deadline_entry : uring::timers::entry {
        transport* io = nullptr;
    };
    // A signature by the signing thread; it returns through the mailbox.
    struct signature_result : tls::signature_waiter, coro::resumption {
        transport* io = nullptr;
    };

    void begin_receive();
    void prefetch_hint(uring::completion const& next) const;
    void on_receive(uring::completion const& cqe);
    void receive_bytes(std::string_view bytes);
    void receive_sealed(std::string_view bytes);
    void deliver(std::string_view plain);
    void append_unread(std::string_view plain);
    void drop_consumed();
    void keep_unread();
    void pause_if_full();
    void resume_receiving();
    void decrypt(std::string_view sealed);
    bool trusts_peer() const;
    void expect_proxy_header();
    bool take_proxy_header(std::string_view& bytes);
    void begin_handshake();
    void queue_handshake();
    void refuse_plain();
    void acknowledge_now() const;
    void handshake_failed();
    void seal();
    void begin_send();
    void on_send(std::int32_t result);
    void resume(wake_reason reason);
    void mark_dirty();
    void end_input();
    void begin_close();
    void shut_down_writing();
    void close_once_read();
    bool has_unread_output() const;
    void check_closed();
    void arm_deadline();
    void on_deadline(base::mono_ns now);
    bool has_failed() const;
    bool in_flight() const { return receive_.active || send_.active || close_.active || signing_; }
    void account();
    void wake_first_wait();
    awaiter begin_wait(wait kind, base::mono_ns deadline);
    bool awaits_client() const {
        return waiter_ && (waiting_for_ == wait::input || waiting_for_ == wait::events);
    }
    std::size_t unparsed_max() const;
    base::mono_ns seconds_from_now(std::uint64_t seconds) const;
    base::mono_ns send_ns() const;

    worker_context& context_;
    memory_budget::reservation reserved_;
    int fd_;
    phase phase_ = phase::open;
    wait waiting_for_ = wait::input;
    wake_reason wake_reason_ = wake_reason::bytes;
    bool idle_ = true;
    bool notifies_ = false;
    bool read_ahead_allowed_ = false;
    bool input_ended_ = false;
    bool paused_ = false;
    bool dirty_ = false;
    bool proxy_header_due_ = false;
    bool handshaking_ = false;
    bool handshake_started_ = false;  // bytes of it have arrived
    bool may_be_plain_ = true;        // they do not yet tell TLS from plain HTTP
    bool wait_interrupted_ = false;
    bool handshake_queued_ = false;
    bool starved_ = false;
    bool signing_ = false;  // an RSA signature is being made
    bool sealed_end_sent_ = false;
    bool secret_ = false;  // a key was in the output

    std::coroutine_handle<> waiter_;
    std::string_view unread_;
    std::string kept_input_;     // unread bytes that outlived their turn
    std::string output_;         // plain, not yet sealed or sent
    std::string sealed_output_;  // TLS records to be sent
    std::string sending_;        // the kernel reads it until the send has completed
    std::string sealed_input_;   // of an unfinished PROXY header or handshake
    std::size_t sent_bytes_ = 0;
    std::size_t discarded_bytes_ = 0;
    std::size_t output_reserved_ = 0;  // of the reservation, for `output_`
    std::size_t body_bytes_ = 0;
    std::size_t pending_bytes_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t taken_bytes_ = 0;    // by the kernel, of the output
    std::uint64_t progress_mark_ = 0;  // of these, when its deadline was set
    holder_watch watch_;

    base::mono_ns ready_since_ = 0;
    base::mono_ns read_deadline_ = 0;
    base::mono_ns write_deadline_ = 0;
    base::mono_ns end_deadline_ = 0;
    deadline_entry timer_;
    socket_operation receive_, send_, close_;
    api::peer peer_;
    std::optional<model::address> counted_address_;
    std::shared_ptr<tls::context> tls_context_;  // as at its begin, across a reload
    std::unique_ptr<tls::session> session_;
    std::unique_ptr<signature_result> signature_result_;
};

}  // namespace latchkey::server
