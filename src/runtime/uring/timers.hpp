// A hashed timing wheel for one thread: 1,024 slots of 64 ms (Varghese and Lauck, "Hashed and
// hierarchical timing wheels", 1987, scheme 6). Moving a deadline later is one store; the entry is
// linked again only when its slot comes up. A deadline fires at most one slot late.
//
//     timers.arm(entry, now + 10 s);   // `entry.fire` is called by `expire`, disarmed
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.hpp"
#include "base/time_units.hpp"

namespace latchkey::uring {

class timers {
  public:
    struct entry {
        void (*fire)(entry& self, base::mono_ns now) = nullptr;
        base::mono_ns deadline = 0;  // 0: disarmed

      private:
        friend class timers;
        entry* next = nullptr;
        entry** link = nullptr;  // the pointer to this entry; null: in no slot
        base::mono_ns slot_time = 0;
        std::uint16_t slot = 0;
    };

    explicit timers(base::mono_ns now) : hand_(now / slot_ns) {}
    timers(timers const&) = delete;
    timers& operator=(timers const&) = delete;

    // Sets or moves the deadline; 0 disarms. Cheap when it moves later.
    void arm(entry& timer, base::mono_ns deadline);
    // Takes the entry out; to be called before it dies.
    void remove(entry& timer);
    // Fires every entry whose deadline has passed. Entries may be armed and removed meanwhile.
    void expire(base::mono_ns now);
    // The earliest slot with an entry; 0: none.
    base::mono_ns next() const;

  private:
    static constexpr base::mono_ns slot_ns = 64 * base::millisecond;
    static constexpr std::size_t slot_count = 1024;

    void insert(entry& timer);
    void expire_slot(std::size_t slot, base::mono_ns now);

    std::array<entry*, slot_count> slots_{};
    std::array<std::uint64_t, slot_count / 64> occupied_{};
    std::int64_t hand_;  // slots up to this number (time / slot_ns) have expired
};

}  // namespace latchkey::uring
