// Provided receive buffers of a ring: a multishot receive takes one for each piece of data, so idle
// connections hold none. Same thread as the ring.
//
//     std::span<char> bytes = buffers.view(done);   // of a completion that has a buffer
//     … parse them in this turn …
//     buffers.release(done);                        // whatever the result was
//     buffers.publish();                            // once a turn
//
// Under AddressSanitizer a buffer is poisoned while the kernel owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.hpp"
#include "runtime/uring/ring.hpp"

namespace latchkey::uring {

class buffers {
  public:
    static constexpr std::uint16_t group = 1;

    // `count`: a power of two, at most 32768.
    static base::result<std::unique_ptr<buffers>> make(ring& owner, std::uint32_t count,
                                                       std::uint32_t bytes_each);
    ~buffers();
    buffers(buffers const&) = delete;
    buffers& operator=(buffers const&) = delete;

    // The data of a completion that has a buffer; valid until `release`.
    std::span<char> view(completion const& cqe);
    // The same without taking the buffer, for a look ahead of `view`; its result must be positive.
    std::string_view peek(completion const& next) const;
    void release(completion const& cqe);
    // Makes the buffers released since the last call available to the kernel.
    void publish();

    // Buffers available to the kernel; grows with `publish`.
    std::uint32_t available() const { return available_; }
    std::uint32_t count() const { return count_; }

  private:
    explicit buffers(ring& owner) : ring_(owner) {}
    void provide(std::uint32_t index);
    char* buffer(std::uint32_t index) const { return memory_ + std::size_t{index} * bytes_each_; }

    ring& ring_;
    io_uring_buf_ring* entries_ = nullptr;
    char* memory_ = nullptr;
    std::uint32_t count_ = 0;
    std::uint32_t bytes_each_ = 0;
    std::uint32_t available_ = 0;
    int returned_ = 0;
};

}  // namespace latchkey::uring
