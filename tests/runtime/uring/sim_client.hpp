// A simulated client: sends bytes in pieces of random size and reads at its own pace. Must live
// until the world has ended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernel.hpp"

namespace latchkey::fake {

class sim_client : public client {
  public:
    sim_client(world& simulation, kernel& sim_kernel) : world_(simulation), kernel_(sim_kernel) {}
    virtual ~sim_client() = default;
    sim_client(sim_client const&) = delete;
    sim_client& operator=(sim_client const&) = delete;

    void connect(int listener) { connection_ = kernel_.connect(listener, *this); }
    // Sent in pieces.
    void send(std::string_view bytes);
    // Ends the input of the server once everything is sent.
    void end_input();
    // Resets the connection, sometimes after a last piece.
    void reset();

    // From now on the connection may break at any time.
    void allow_break() { kernel_.allow_break(*connection_); }

    bool may_break() const { return may_break_; }
    bool has_ended() const { return ended_; }
    std::size_t unsent() const { return unsent_.size(); }

  protected:
    virtual void on_data(std::string_view bytes) = 0;
    // `broken`: reset; unread bytes are lost.
    virtual void on_end(bool broken) = 0;

    world& world_;
    kernel& kernel_;
    connection_ptr connection_;
    // Reads a few bytes at a time.
    bool reads_slowly_ = false;
    // Reads nothing until the end.
    bool reads_nothing_ = false;

  private:
    void readable() final;
    void break_allowed() final { may_break_ = true; }
    void send_piece();
    void read_piece();

    std::string unsent_;
    bool sending_ = false, reading_ = false, ending_ = false;
    bool may_break_ = false, ended_ = false;
};

}  // namespace latchkey::fake
