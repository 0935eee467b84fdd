// Pooled memory for coroutine frames: free lists by size class, so that a request in steady state
// allocates nothing. A worker creates one pool and installs it on its thread while it runs:
//
//     coro::frame_pool pool;
//     coro::frame_pool::installation const installed(pool);   // until the end of the block
//
// A frame remembers its pool and must be freed on the thread that has the pool installed (else a
// check fails), so an installation outlives its frames. Without a pool frames come from operator
// new. At most `bytes_max` free bytes are kept, the rest returns to the heap; frames larger than
// `pooled_bytes_max` are never kept. Out of memory ends the process: a coroutine that could not be
// created cannot report it. Under AddressSanitizer free blocks are poisoned.
#pragma once

#include <array>
#include <cstddef>

namespace latchkey::coro {

class frame_pool {
  public:
    static constexpr std::size_t pooled_bytes_max = 8192;
    static constexpr std::size_t class_bytes = 64;
    static constexpr std::size_t bytes_max_default = std::size_t{8} << 20;

    explicit frame_pool(std::size_t bytes_max = bytes_max_default) : bytes_max_(bytes_max) {}
    ~frame_pool();
    frame_pool(frame_pool const&) = delete;
    frame_pool& operator=(frame_pool const&) = delete;

    // Bytes in the free lists, and live frames of this pool.
    std::size_t free_bytes() const { return free_bytes_; }
    std::size_t frames() const { return frames_; }

    // Makes `pool` the calling thread's pool; nests.
    class installation {
      public:
        explicit installation(frame_pool& pool);
        ~installation();
        installation(installation const&) = delete;
        installation& operator=(installation const&) = delete;

      private:
        frame_pool* outer_;
    };

  private:
    friend struct pooled_frame;
    struct block;

    void* allocate(std::size_t size_class);
    void release(block* freed, std::size_t size_class);

    std::array<block*, pooled_bytes_max / class_bytes + 1> free_{};
    std::size_t bytes_max_;
    std::size_t free_bytes_ = 0;
    std::size_t frames_ = 0;
};

// Base of every promise type: allocates its frame from the thread's pool.
struct pooled_frame {
    static void* operator new(std::size_t size);
    static void operator delete(void* frame, std::size_t size) noexcept;
};

// Live coroutine frames of this thread (created minus freed), pooled or not; for tests. A frame
// that the optimiser merged into its caller's is not counted.
std::ptrdiff_t frames_alive();

}  // namespace latchkey::coro
