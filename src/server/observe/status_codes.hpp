// The statuses that the service answers with, numbered without gaps, so that counters by exact
// status fit in a small table. Others share the last place of their class.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace latchkey::server {

// Ascending within a class; 0 stands for all others of the class.
struct status_slot {
    std::uint16_t status_class;  // 1 to 5
    std::uint16_t code;
};
inline constexpr std::array<status_slot, 34> status_slots{{
    {1, 0},   {2, 200}, {2, 201}, {2, 202}, {2, 204}, {2, 0},   {3, 302}, {3, 304}, {3, 0},
    {4, 400}, {4, 401}, {4, 403}, {4, 404}, {4, 405}, {4, 406}, {4, 408}, {4, 409}, {4, 410},
    {4, 412}, {4, 413}, {4, 414}, {4, 415}, {4, 417}, {4, 422}, {4, 428}, {4, 429}, {4, 431},
    {4, 0},   {5, 500}, {5, 501}, {5, 503}, {5, 505}, {5, 507}, {5, 0},
}};

// Index by status, below 600; one look-up per request.
inline constexpr auto slot_by_status = [] {
    std::array<std::uint8_t, 600> slots{};
    for (std::size_t i = 0; i < status_slots.size(); ++i)  // first the class, then what is in it
        for (std::size_t status = 0; status < slots.size(); ++status)
            if (status_slots[i].code == 0 &&
                std::clamp<std::size_t>(status / 100, 1, 5) == status_slots[i].status_class)
                slots[status] = static_cast<std::uint8_t>(i);
    for (std::size_t i = 0; i < status_slots.size(); ++i)
        if (status_slots[i].code != 0) slots[status_slots[i].code] = static_cast<std::uint8_t>(i);
    return slots;
}();

inline constexpr std::size_t slot_of(std::size_t status) {
    return slot_by_status[std::min<std::size_t>(status, slot_by_status.size() - 1)];
}

}  // namespace latchkey::server
