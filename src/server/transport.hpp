// One client's socket as two streams of plain bytes: TLS, receiving with flow control, sending, and
// an orderly end are in here; HTTP is not. Owned by its connection's coroutine, which is the only
// one that awaits it; belongs to its worker's thread.
//
//     while (io.unread() does not do) if (co_await io.more(deadline) != news::bytes) …;
//     io.consume(n);
//     io.answers().append(…);        // sent at the end of the turn, or when the send before is
//     done io.finish();                   // nothing more will be answered co_await io.gone(); //
//     last: the kernel holds nothing of it any more
//
// Views of `unread` hold until the coroutine next suspends or consumes.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/exchange.hpp"
#include "coro/executor.hpp"
#include "tls/context.hpp"
#include "tls/session.hpp"
#include "uring/operation.hpp"
#include "uring/timers.hpp"

namespace latchkey::server {

class worker;

// What an acceptor hands on.
struct accepted {
    int fd = -1;
    bool tls = false;
    bool proxy = false;                     // a PROXY header comes first
    std::optional<model::address> counted;  // as what it has entered the worker's address_counts
};

// Who is at the other end; `client` is nullopt when that is not known any more.
api::peer peer_of(int fd, bool tls);

class transport {
  public:
    transport(worker& home, accepted const& socket);
    ~transport();
    transport(transport const&) = delete;
    transport& operator=(transport const&) = delete;

    // Who is there; with a PROXY header, from its last byte on, whom it names.
    api::peer const& peer() const { return peer_; }
    std::optional<model::address> const& counted() const { return counted_; }

    // What has come and was not consumed.
    std::string_view unread() const { return unread_; }
    void consume(std::size_t bytes);
    std::uint64_t received() const { return received_; }

    enum class news : std::uint8_t { bytes, end, late };
    enum class wait : std::uint8_t { input, room, turn, time, gone };
    struct waiting {
        transport& io;
        wait what;
        bool await_ready() const noexcept;
        void await_suspend(std::coroutine_handle<> waiter) noexcept;
        news await_resume() const noexcept { return io.news_; }
    };
    // Until more bytes came (`bytes`), the client sends no more (`end`), or the deadline has
    // passed.
    waiting more(base::mono_ns deadline);
    // Until less than half of unsent_bytes_max is unsent, or the client is gone.
    waiting room();
    // Until the worker's next turn: others come first.
    waiting next_turn();
    // Until then, up to 64 ms later, whatever comes meanwhile; the client may be gone earlier.
    waiting until(base::mono_ns when);
    // Until nothing of this is in flight; only after `finish` or `abort`.
    waiting gone();

    // Where answers are appended; they are sent by themselves.
    std::string& answers();
    // What was appended is a secret: from now on this connection's buffers are wiped after use.
    void keep_secret() { secret_ = true; }
    std::size_t unsent() const {
        return answers_.size() + sealed_.size() + sending_.size() - sent_;
    }
    // False once the client is gone: nothing that is answered can reach it.
    bool open() const { return phase_ == phase::open; }
    // No request and no part of one is in hand; the worker ends such connections when it drains.
    void set_idle(bool idle) { idle_ = idle; }
    bool idle() const { return idle_; }
    // A key let its last request in: what the next one reads may be fetched before that is judged.
    void set_known(bool known) { known_ = known; }

    // No further answers: sends what there is, then closes in order (RFC 9112 §9.6).
    void finish();
    // Ends at once, whatever is unsent.
    void abort();
    // When the worker stops: tells the coroutine of an idle connection `end`, ends one that is
    // dead.
    void end_idle();
    // Keeps more than `share` for a client that took nothing of it for a second.
    bool hoards(std::size_t share, base::mono_ns now) const;
    // Ends at once, and what the kernel has for the client is dropped too.
    void reset();
    // Bytes of a body in hand, for the worker's budget.
    void hold_body(std::size_t bytes) { body_held_ = bytes, account(); }

    // For the worker's turn.
    void flush();           // seals and sends what the turn has left
    void handshake_step();  // one step; the worker rations them
    void receive_again();   // there are buffers again
    void resume_later();    // of those that asked for the next turn

    transport* next_open = nullptr;  // the worker's list of all
    transport** open_link = nullptr;

  private:
    enum class phase : std::uint8_t { open, finishing, lingering, closing };

    struct socket_operation : uring::operation {
        transport* io = nullptr;
        bool active = false;
    };
    struct deadline_entry : uring::timers::entry {
        transport* io = nullptr;
    };
    // A signature that was asked for on the signing thread; it comes back through the mailbox.
    struct signed_note : tls::signature_waiter, coro::resumption {
        transport* io = nullptr;
    };

    void begin_receive();
    void foresee(std::int32_t result, std::uint32_t flags) const;
    void on_receive(std::int32_t result, std::uint32_t flags);
    void take_in(std::string_view bytes);
    void take_sealed(std::string_view bytes);
    void deliver(std::string_view plain);
    void append_pending(std::string_view plain);
    void drop_consumed();
    void keep_rest();
    void pause_if_full();
    void go_on_receiving();
    void decrypt(std::string_view sealed);
    bool believes_proxy() const;
    void expect_proxy_header();
    bool take_proxy_header(std::string_view& bytes);
    void begin_handshake();
    void queue_handshake();
    void handshake_failed();
    void seal();
    void begin_send();
    void on_send(std::int32_t result);
    void resume(news what);
    void mark_dirty();
    void no_more_input();
    void begin_close();
    void shut_down_writing();
    void close_once_read();
    bool client_owes_reading() const;
    void check_gone();
    void arm_deadline();
    void on_deadline(base::mono_ns now);
    bool is_dead() const;
    bool in_flight() const { return receive_.active || send_.active || close_.active || signing_; }
    void account();
    base::mono_ns send_ns() const;

    worker& home_;
    int fd_;
    phase phase_ = phase::open;
    wait waiting_for_ = wait::input;
    news news_ = news::bytes;
    bool idle_ = true;
    bool known_ = false;
    bool input_ended_ = false;
    bool paused_ = false;
    bool dirty_ = false;
    bool proxy_header_due_ = false;
    bool handshaking_ = false;
    bool queued_handshake_ = false;
    bool starved_ = false;
    bool signing_ = false;  // an RSA signature is on its way
    bool sealed_end_sent_ = false;
    bool secret_ = false;  // a key was among the answers

    std::coroutine_handle<> waiter_;
    std::string_view unread_;
    std::string pending_;    // unread bytes that outlived their turn
    std::string answers_;    // plain, not yet sealed or sent
    std::string sealed_;     // TLS records to be sent
    std::string sending_;    // the kernel reads it until the send has completed
    std::string sealed_in_;  // an unfinished PROXY header, TLS bytes of an unfinished handshake
    std::size_t sent_ = 0;
    std::size_t discarded_ = 0;
    std::size_t held_ = 0;
    std::size_t body_held_ = 0;
    std::uint64_t received_ = 0;

    base::mono_ns read_deadline_ = 0;
    base::mono_ns write_deadline_ = 0;
    base::mono_ns end_deadline_ = 0;
    deadline_entry timer_;
    socket_operation receive_, send_, close_;
    api::peer peer_;
    std::optional<model::address> counted_;
    std::shared_ptr<tls::context> context_;  // the one it began with, across a reload
    std::unique_ptr<tls::session> session_;
    std::unique_ptr<signed_note> signed_;

    friend class worker;
    transport* next_dirty_ = nullptr;
};

}  // namespace latchkey::server
