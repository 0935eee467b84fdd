// Where coroutine frames come from: free lists by size, so that a request in steady state allocates
// nothing. A worker makes one pool and installs it on its own thread for as long as it runs:
//
//     coro::frame_pool pool;
//     coro::frame_pool::installation const use(pool);   // until the end of the block
//
// A frame remembers its pool and must be freed on the thread that has it installed (anything else
// is a failed check), so an installation ends only after all its frames did. Without a pool frames
// come from operator new. At most `bytes_max` free bytes are kept, the rest goes back to the heap;
// frames beyond `pooled_bytes_max` are never kept. Running out of memory ends the process, since a
// coroutine that could not be made has no way to say so. Under AddressSanitizer free blocks are
// poisoned.
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

    // Bytes that lie in the free lists, and frames of this pool that are alive.
    std::size_t free_bytes() const { return free_bytes_; }
    std::size_t frames() const { return frames_; }

    // Makes a pool the one of the calling thread; nests.
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

    void* take(std::size_t size_class);
    void give_back(block* freed, std::size_t size_class);

    std::array<block*, pooled_bytes_max / class_bytes + 1> free_{};
    std::size_t bytes_max_;
    std::size_t free_bytes_ = 0;
    std::size_t frames_ = 0;
};

// The base of every promise type here: frames by way of the thread's pool.
struct pooled_frame {
    static void* operator new(std::size_t size);
    static void operator delete(void* frame, std::size_t size) noexcept;
};

// Coroutine frames made less frames freed on this thread, with or without a pool; for tests. A
// frame that the optimiser put into its caller's is not seen.
std::ptrdiff_t frames_alive();

}  // namespace latchkey::coro
