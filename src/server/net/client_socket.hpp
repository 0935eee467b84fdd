// The descriptor of a client's connection and the operations that the kernel has in hand on it: a
// multishot receive with flow control, a send, and the close. It holds no bytes and knows no
// protocol; completions go to its owner. Belongs to its worker's thread.
//
//     socket.receiving.complete = …;   // of each operation; `owner` is who is called
//     socket.receive();                // until `pause`, `starve` or `end_input`
//     socket.send(bytes);              // one at a time
//     socket.close();                  // last; it may die once `in_flight` is false
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "runtime/uring/pending_operation.hpp"
#include "server/worker_context.hpp"

namespace latchkey::server {

class client_socket {
  public:
    enum class phase : std::uint8_t {
        open,
        finishing,  // no further output; what there is has to be sent
        lingering,  // all was sent; what the client still sends is dropped
        closing,
    };
    struct operation : uring::operation {
        transport* owner = nullptr;
    };

    client_socket(worker_context& context, int fd, transport& owner);
    client_socket(client_socket const&) = delete;
    client_socket& operator=(client_socket const&) = delete;

    bool is(phase state) const { return phase_ == state; }
    void finish() { phase_ = phase::finishing; }
    // Ends the output in order (RFC 9112 §9.6); input comes in further, to be dropped.
    void linger();
    // Cancels what is armed, and closes.
    void close();
    // A close will reset the connection and drop its output.
    void reset_on_close() const;
    // An operation has not completed.
    bool in_flight() const { return receiving.active || sending.active || closing.active; }

    // Arms the receive, unless it is armed or something forbids it.
    void receive();
    void pause();
    void resume() {
        if (std::exchange(paused_, false)) receive();
    }
    bool is_paused() const { return paused_; }
    // The kernel had no buffer, until `feed`. False: that was known.
    bool starve() { return !std::exchange(starved_, true); }
    void feed();
    // No further input. False: that was known.
    bool end_input() { return !std::exchange(input_ended_, true); }
    bool input_ended() const { return input_ended_; }
    // Counts input that is dropped; false: it is more than a client may send so.
    bool drop(std::size_t bytes);

    // `bytes` have to stay where they are until the send has completed.
    void send(std::string_view bytes);
    // The kernel has output that the client has not acknowledged.
    bool has_unread_output() const;
    // Acknowledges what was received, where the kernel would wait for output to go with it.
    void acknowledge() const;
    // The connection is broken.
    bool has_failed() const;

    operation receiving, sending, closing;

  private:
    worker_context& context_;
    int const fd_;
    phase phase_ = phase::open;
    bool paused_ = false;
    bool starved_ = false;
    bool input_ended_ = false;
    std::size_t dropped_bytes_ = 0;
};

}  // namespace latchkey::server
