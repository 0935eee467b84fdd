// The way from the workers to the writer: many threads push, one takes all. Nothing is allocated
// and no lock is taken, so a worker is never held up by a writer that the kernel has put aside.
// Bounded in commands and in bytes. Private to the store.
//
// Pushed tickets form a stack through `behind`; `take` turns it round, so what one thread pushed
// comes out in its order.
#pragma once

#include <atomic>
#include <cstdint>

#include "store/writer.hpp"

namespace latchkey::store {

class ticket_queue {
  public:
    // False when it is full or closed. After true the ticket may be gone already.
    bool push(ticket& waiting);

    // For the writer. All that was pushed, oldest first, linked through `behind`; null: nothing.
    struct line {
        ticket* oldest = nullptr;
        ticket* newest = nullptr;
    };
    line take();
    // The same, and from now on `push` refuses.
    line take_and_close();
    // Makes room for as much as these were. Once for each ticket, before it is posted.
    void forget(std::size_t commands, std::size_t bytes);
    // Until something was pushed, or `unless` is set and `wake` called, but a minute at most; may
    // return early.
    void sleep(std::atomic<bool> const& unless);

    // Any thread.
    void wake();

  private:
    ticket* closed_mark() { return &closed_; }

    std::atomic<ticket*> newest_{nullptr};
    std::atomic<std::size_t> commands_{0};
    std::atomic<std::size_t> bytes_{0};
    // A futex: 1 while the writer sleeps or is about to. The sleeper sets it and then looks for
    // tickets (and at `unless`); a pusher adds a ticket and then looks at it. Both in sequentially
    // consistent order, so at least one of them sees the other.
    std::atomic<std::uint32_t> asleep_{0};
    ticket closed_;  // only its address counts
};

}  // namespace latchkey::store
