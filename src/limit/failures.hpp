// Failed authentications by client address (API §2): after so many in a minute every further one is
// refused for a time that doubles with each repetition. Shared by all workers, lock-free.
//
//     auto const wait = failures.count(client, now.mono);     // after key_invalid, and only then
//     if (wait != 0) … 429, Retry-After: wait …               else 401
//
// A table of fixed size without tags: 65,536 words, and an address has the one that a seeded hash
// of it names (of an IPv6 address its first 64 bits, since whoever has one of a network has all).
// Two addresses in one word share their failures; that can only hurt clients that fail. Nobody
// outside can aim at a word, as the seed is random.
//
// A minute begins with the first failure in it, so an address that fails no more often than is
// allowed in any minute is never refused. While it is refused its failures do not make the time
// longer, but they are failures: what is known of an address is forgotten once 900 seconds have
// passed without one. Time is counted in sixteenths of a second; a refusal ends up to one of them
// early, and Retry-After is never before that end.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"
#include "model/cidr.hpp"

namespace latchkey::limit {

// The network by which a client is counted: the address itself, or the /64 of an IPv6 address.
model::address network_of(model::address const& client);

class failures {
  public:
    static constexpr std::size_t words = 65'536;
    static constexpr std::uint32_t per_minute_max = 8'000;
    static constexpr std::uint32_t refused_seconds_min = 60;
    static constexpr std::uint32_t refused_seconds_max = 900;
    static constexpr std::uint32_t quiet_seconds = 900;
    static constexpr base::mono_ns refusal_gap = 1'000'000;           // 1 ms
    static constexpr base::mono_ns refusal_burst = 64 * refusal_gap;  // what a timer may be late
    static constexpr base::mono_ns refusal_wait_max = 1000 * refusal_gap;

    // `per_minute` is what is allowed, at most per_minute_max; 0 switches the limit off. `seed` is
    // from the system's random source.
    failures(std::uint32_t per_minute, std::uint64_t seed);
    // Another number from now on; who is being refused stays it for the rest of its time.
    void allow(std::uint32_t per_minute);
    failures(failures const&) = delete;
    failures& operator=(failures const&) = delete;

    // Counts one more failure. 0: it is within the limit; else after how many seconds the address
    // is not refused any more, 1 to 900. Any thread; no allocation, no system call.
    std::uint32_t count(model::address const& client, base::mono_ns now);

    // When the connection is to be heard again on which an address was just refused (`count` was
    // not 0): `now` while it is refused less than a thousand times a second, or 64 times after a
    // while, and else as much later as keeps it at that, by at most refusal_wait_max. A refusal
    // costs as much as an answer, so who sends keys by the ten thousand would otherwise take from
    // everybody else. Threads, allocations and calls as of `count`.
    base::mono_ns hear_again(model::address const& client, base::mono_ns now);

    // Which word an address has.
    std::size_t word_of(model::address const& client) const;

  private:
    std::atomic<std::uint32_t> per_minute_;
    std::uint64_t const seed_;
    std::array<std::atomic<std::uint64_t>, words> words_{};
    // When the next refusal of an address is due, which shares its word with sixteen others: while
    // they are all refused, they are as one.
    std::array<std::atomic<base::mono_ns>, words / 16> next_{};
};

}  // namespace latchkey::limit
