// The queue from the workers to the writer: a lock-free multi-producer, single-consumer stack that
// the consumer takes as a whole (Treiber's push, one exchange to pop all). It allocates nothing,
// and a worker never waits for a writer that the kernel has preempted. Bounded in commands and in
// bytes. Private to the domain.
//
// Tickets are linked through `next`; `take` reverses the stack, so the tickets of one thread come
// out in the order of their pushes.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"
#include "base/time_units.hpp"
#include "domain/writer/ticket.hpp"

namespace latchkey::domain {

class ticket_queue {
  public:
    // False: the queue is full or closed. After true the ticket may be answered and gone already.
    bool push(ticket& entry);

    // Writer only. All tickets, oldest first, linked through `next`; null: none.
    struct batch {
        ticket* oldest = nullptr;
        ticket* newest = nullptr;
    };
    batch take();
    // The same; from now on `push` refuses.
    batch close();
    // Returns the capacity that tickets took; once for each ticket, before it is posted.
    void release(std::size_t commands, std::size_t bytes);
    // Sleeps until a ticket is pushed, until `notify`, or until `stopping` is set and `wake`
    // called; may return early. True: nothing of that happened for `patience`.
    bool sleep(std::atomic<bool> const& stopping, base::mono_ns patience = 60 * base::second);

    // Any thread.
    void wake();
    // Ends the present or the next sleep.
    void notify();

  private:
    ticket* closed_mark() { return &closed_; }

    std::atomic<ticket*> newest_{nullptr};
    std::atomic<std::size_t> commands_{0};
    std::atomic<std::size_t> bytes_{0};
    // A futex: 1 while the writer sleeps or is about to. The sleeper sets it and then checks for
    // tickets (`stopping`, `notified_`); a producer pushes and then checks it. Both are
    // sequentially consistent, so at least one of them sees the other (Dekker's pattern).
    std::atomic<std::uint32_t> asleep_{0};
    std::atomic<bool> notified_{false};
    ticket closed_;  // only its address is used
};

}  // namespace latchkey::domain
