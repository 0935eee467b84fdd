#include "runtime/uring/timers.hpp"

#include <algorithm>
#include <bit>

namespace latchkey::uring {

void timers::arm(entry& timer, base::mono_ns deadline) {
    timer.deadline = deadline;
    if (deadline == 0) return;  // found disarmed when its slot expires
    if (timer.link != nullptr && timer.slot_time <= deadline) return;
    remove(timer);
    timer.deadline = deadline;
    insert(timer);
}

void timers::insert(entry& timer) {
    // Rounded up, so that it never fires early. A deadline beyond the wheel's span waits in the
    // last slot and is inserted again from there.
    auto number = (timer.deadline + slot_ns - 1) / slot_ns;
    number = std::clamp<std::int64_t>(number, hand_ + 1,
                                      hand_ + static_cast<std::int64_t>(slot_count) - 1);
    auto const slot = static_cast<std::size_t>(number) % slot_count;
    timer.slot = static_cast<std::uint16_t>(slot);
    timer.slot_time = number * slot_ns;
    timer.next = slots_[slot];
    if (timer.next != nullptr) timer.next->link = &timer.next;
    timer.link = &slots_[slot];
    slots_[slot] = &timer;
    occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
}

void timers::remove(entry& timer) {
    timer.deadline = 0;
    if (timer.link == nullptr) return;
    *timer.link = timer.next;
    if (timer.next != nullptr) timer.next->link = timer.link;
    timer.link = nullptr;
    if (slots_[timer.slot] == nullptr)
        occupied_[timer.slot / 64] &= ~(std::uint64_t{1} << (timer.slot % 64));
}

void timers::expire(base::mono_ns now) {
    auto const target = now / slot_ns;
    // After a long pause every slot expires once, not once per revolution.
    auto const first = std::max(hand_ + 1, target - static_cast<std::int64_t>(slot_count) + 1);
    for (auto number = first; number <= target; ++number) {
        hand_ = number;
        expire_slot(static_cast<std::size_t>(number) % slot_count, now);
    }
    hand_ = std::max(hand_, target);
}

void timers::expire_slot(std::size_t slot, base::mono_ns now) {
    // From the front, one by one: a callback may remove its neighbours.
    while (entry* const timer = slots_[slot]) {
        auto const deadline = timer->deadline;
        remove(*timer);
        if (deadline == 0) continue;
        timer->deadline = deadline;
        if (deadline > now) {
            insert(*timer);
            continue;
        }
        timer->deadline = 0;
        timer->fire(*timer, now);
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
