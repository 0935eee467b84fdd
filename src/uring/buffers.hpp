// The receive buffers of a ring, lent to the kernel (a provided-buffer ring): a multishot receive
// takes one for each piece of data that comes, so idle connections hold none. Same thread as the
// ring.
//
//     std::span<char> bytes = buffers.view(flags, result);   // of a completion with F_BUFFER
//     … read them in this turn …
//     buffers.give_back(flags);                              // whatever the result was
//     buffers.publish();                                     // once a turn
//
// Under AddressSanitizer a buffer is poisoned while the kernel owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.hpp"
#include "uring/ring.hpp"

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

    // What a completion with IORING_CQE_F_BUFFER in `flags` brought; ours until it is given back.
    std::span<char> view(std::uint32_t flags, std::int32_t result);
    // The same for who only looks at it ahead of that; `result` must be positive.
    std::string_view peek(std::uint32_t flags, std::int32_t result) const;
    void give_back(std::uint32_t flags);
    // Tells the kernel about everything given back since the last time.
    void publish();

    // How many the kernel has to take from; grows with `publish`.
    std::uint32_t lent() const { return lent_; }
    std::uint32_t count() const { return count_; }

  private:
    explicit buffers(ring& owner) : ring_(owner) {}
    char* at(std::uint32_t index) const { return memory_ + std::size_t{index} * bytes_each_; }

    ring& ring_;
    io_uring_buf_ring* entries_ = nullptr;
    char* memory_ = nullptr;
    std::uint32_t count_ = 0;
    std::uint32_t bytes_each_ = 0;
    std::uint32_t lent_ = 0;
    int returned_ = 0;
};

}  // namespace latchkey::uring
