#include "uring/timers.hpp"

#include <algorithm>
#include <bit>

namespace latchkey::uring {

void timers::arm(entry& which, base::mono_ns deadline) {
    which.deadline = deadline;
    if (deadline == 0) return;  // its slot will find it disarmed
    if (which.link != nullptr && which.slot_time <= deadline) return;
    remove(which);
    which.deadline = deadline;
    insert(which);
}

void timers::insert(entry& which) {
    // Rounded up, so that it never fires early; what lies beyond the wheel's reach waits in its
    // last slot and is put in again from there.
    auto number = (which.deadline + slot_ns - 1) / slot_ns;
    number = std::clamp<std::int64_t>(number, hand_ + 1,
                                      hand_ + static_cast<std::int64_t>(slot_count) - 1);
    auto const slot = static_cast<std::size_t>(number) % slot_count;
    which.slot = static_cast<std::uint16_t>(slot);
    which.slot_time = number * slot_ns;
    which.next = slots_[slot];
    if (which.next != nullptr) which.next->link = &which.next;
    which.link = &slots_[slot];
    slots_[slot] = &which;
    occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
}

void timers::remove(entry& which) {
    which.deadline = 0;
    if (which.link == nullptr) return;
    *which.link = which.next;
    if (which.next != nullptr) which.next->link = which.link;
    which.link = nullptr;
    if (slots_[which.slot] == nullptr)
        occupied_[which.slot / 64] &= ~(std::uint64_t{1} << (which.slot % 64));
}

void timers::expire(base::mono_ns now) {
    auto const target = now / slot_ns;
    // After a long pause every slot is looked at once, not once per turn of the wheel.
    auto const first = std::max(hand_ + 1, target - static_cast<std::int64_t>(slot_count) + 1);
    for (auto number = first; number <= target; ++number) {
        hand_ = number;
        expire_slot(static_cast<std::size_t>(number) % slot_count, now);
    }
    hand_ = std::max(hand_, target);
}

void timers::expire_slot(std::size_t slot, base::mono_ns now) {
    // One at a time from the front: what fires may remove its neighbours.
    while (entry* const which = slots_[slot]) {
        auto const deadline = which->deadline;
        remove(*which);
        if (deadline == 0) continue;
        which->deadline = deadline;
        if (deadline > now) {
            insert(*which);
            continue;
        }
        which->deadline = 0;
        which->fire(*which, now);
    }
}

base::mono_ns timers::next() const {
    auto const begin = static_cast<std::size_t>(hand_ + 1) % slot_count;
    for (std::size_t step = 0; step < slot_count;) {
        auto const slot = (begin + step) % slot_count;
        auto const rest = occupied_[slot / 64] >> (slot % 64);
        if (rest != 0) {
            auto const ahead = step + static_cast<std::size_t>(std::countr_zero(rest));
            return (hand_ + 1 + static_cast<std::int64_t>(ahead)) * slot_ns;
        }
        step += 64 - slot % 64;
    }
    return 0;
}

}  // namespace latchkey::uring
