// Who holds the memory of a worker, and how fast it goes back: what load shedding decides by.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/time_units.hpp"

namespace latchkey::server {

// Looks at one connection again and again while memory is scarce. Its client makes progress in
// proportion to what is held for it: a byte now and then is none.
class holder_watch {
  public:
    static constexpr base::mono_ns look_every = 100 * base::millisecond;
    static constexpr base::mono_ns patience = base::second;
    // Of what waits for a client it takes at least this part within `patience`.
    static constexpr std::size_t progress_part = 16;

    enum class standing : std::uint8_t {
        modest,  // within its share, or not above it for long
        heavy,   // above it for longer than `patience`
        slow,    // and without progress
    };
    // What is held has become so much. Between two looks it may fall: who is answered one request
    // after the other holds little again and again, however large the answers are.
    void note(std::size_t bytes) { least_bytes_ = std::min(least_bytes_, bytes); }
    // Of `bytes`, which are held, some wait for the client, which has taken so many so far.
    standing look(std::size_t bytes, std::size_t unread_bytes, std::uint64_t taken_bytes,
                  std::size_t share, base::mono_ns now) {
        bool const is_first = std::min(std::exchange(least_bytes_, bytes), bytes) <= share ||
                              last_look_ == 0 || now - last_look_ > 10 * look_every;
        last_look_ = now;
        if (is_first) {
            start_ = mark_ = now;
            marked_bytes_ = taken_bytes;
            return standing::modest;
        }
        if (now - mark_ >= patience) {
            bool const is_slow =
                unread_bytes > share && taken_bytes - marked_bytes_ < unread_bytes / progress_part;
            mark_ = now;
            marked_bytes_ = taken_bytes;
            if (is_slow) return standing::slow;
        }
        return now - start_ >= patience ? standing::heavy : standing::modest;
    }

  private:
    std::size_t least_bytes_ = 0;  // since the last look
    base::mono_ns last_look_ = 0;
    base::mono_ns start_ = 0;         // it holds more than its share
    base::mono_ns mark_ = 0;          // when its progress was last judged
    std::uint64_t marked_bytes_ = 0;  // at that time
};

// What one connection holds, and for whom: a key, or the address of a client that showed none.
template <class Connection>
struct holding {
    std::uint64_t owner = 0;
    std::size_t bytes = 0;
    Connection* connection = nullptr;
    bool is_heavy = false;
    std::size_t owner_bytes = 0;  // of all connections of the owner
};

// Puts the largest connection of the owner who holds most in front, and so on.
template <class Connection>
void sort_by_owner(std::vector<holding<Connection>>& all) {
    std::unordered_map<std::uint64_t, std::size_t> together;
    for (auto const& each : all) together[each.owner] += each.bytes;
    for (auto& each : all) each.owner_bytes = together[each.owner];
    std::ranges::sort(all, std::greater(), [](holding<Connection> const& each) {
        return std::tuple(each.owner_bytes, each.owner, each.bytes);
    });
}

// Of holdings that are sorted so: takes out the largest heavy ones of each owner who holds more
// than `bytes_max`, until it holds no more, and gives them to `end`.
template <class Connection, class End>
void end_excess(std::vector<holding<Connection>>& all, std::size_t bytes_max, End end) {
    std::uint64_t owner = 0;
    std::size_t left = 0;
    std::erase_if(all, [&](holding<Connection> const& each) {
        if (std::exchange(owner, each.owner) != each.owner) left = each.owner_bytes;
        if (left <= bytes_max || !each.is_heavy) return false;
        left -= each.bytes;
        end(*each.connection);
        return true;
    });
}

// All together may be `bytes_max`, those of one owner `owner_bytes_max`: gives the heavy ones that
// are beyond to `end`, each owner's first, then of those who hold most.
template <class Connection, class End>
void end_beyond(std::vector<holding<Connection>>& all, std::size_t bytes_max,
                std::size_t owner_bytes_max, End end) {
    auto const sum = [&] {
        std::size_t bytes = 0;
        for (auto const& each : all) bytes += each.bytes;
        return bytes;
    };
    if (sum() <= owner_bytes_max) return;
    sort_by_owner(all);
    end_excess(all, owner_bytes_max, end);
    auto left = sum();
    for (auto const& each : all) {
        if (left <= bytes_max) return;
        if (!each.is_heavy) continue;
        left -= each.bytes;
        end(*each.connection);
    }
}

}  // namespace latchkey::server
