// A client in a `world`: says bytes in pieces of any size and hears what comes, at its own pace.
// To be kept until the world has ended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernel.hpp"

namespace latchkey::fake {

class talker : public client {
  public:
    talker(world& in, kernel& through) : world_(in), kernel_(through) {}
    virtual ~talker() = default;
    talker(talker const&) = delete;
    talker& operator=(talker const&) = delete;

    void connect(int listener) { line_ = kernel_.connect(listener, *this); }
    // Goes out bit by bit.
    void say(std::string_view bytes);
    // Once everything is out: says that nothing more comes.
    void hang_up();
    // Sometimes together with a last piece.
    void reset();

    bool is_spoiled() const { return spoiled_; }
    bool has_ended() const { return ended_; }
    std::size_t unsaid() const { return unsaid_.size(); }

  protected:
    virtual void heard(std::string_view bytes) = 0;
    // `broken`: reset; what had not been heard is lost.
    virtual void ended(bool broken) = 0;

    world& world_;
    kernel& kernel_;
    connection_ptr line_;
    // A slow one takes a few bytes at a time.
    bool slow_ = false;
    // A deaf one takes nothing until the end.
    bool deaf_ = false;
    // From here on the connection may be cut at any moment.
    void spoil() { spoiled_ = line_->is_spoiled = true; }

  private:
    void readable() final;
    void spoiled() final { spoiled_ = true; }
    void speak();
    void listen();

    std::string unsaid_;
    bool speaking_ = false, listening_ = false, hanging_up_ = false;
    bool spoiled_ = false, ended_ = false;
};

}  // namespace latchkey::fake
