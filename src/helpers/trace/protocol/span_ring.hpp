// Spans from one worker to the thread that exports them: a ring for one producer and one consumer,
// without locks (Lamport, "Concurrent Reading and Writing", 1977). When it is full, spans are
// dropped and counted: a request never waits for its trace.
//
//     worker:     ring.push(span);
//     exporter:   ring.take(500, [&](span const& each) { … });
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "helpers/trace/protocol/span.hpp"

namespace latchkey::trace::protocol {

class span_ring {
  public:
    static constexpr std::size_t capacity = 4096;

    span_ring() : spans_(capacity) {}
    span_ring(span_ring const&) = delete;
    span_ring& operator=(span_ring const&) = delete;

    // Producer. False: it was dropped.
    bool push(span const& value) {
        auto const end = end_.load(std::memory_order_relaxed);
        if (end - start_.load(std::memory_order_acquire) == capacity) {
            losses_.store(losses_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            return false;
        }
        spans_[end % capacity] = value;
        end_.store(end + 1, std::memory_order_release);
        return true;
    }
    // Consumer: at most so many, in their order; returns how many.
    template <class Function>
    std::size_t take(std::size_t count_max, Function&& function) {
        auto const start = start_.load(std::memory_order_relaxed);
        auto const count =
            std::min<std::size_t>(count_max, end_.load(std::memory_order_acquire) - start);
        for (std::size_t i = 0; i < count; ++i) function(spans_[(start + i) % capacity]);
        start_.store(start + count, std::memory_order_release);
        return count;
    }
    // Any thread.
    std::uint64_t losses() const { return losses_.load(std::memory_order_relaxed); }

  private:
    std::vector<span> spans_;
    alignas(64) std::atomic<std::size_t> end_{0};
    std::atomic<std::uint64_t> losses_{0};
    alignas(64) std::atomic<std::size_t> start_{0};
};

}  // namespace latchkey::trace::protocol
