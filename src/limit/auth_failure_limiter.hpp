// Failed authentications by client address (api.md §2): after a number of them in a minute every
// further one is refused for a time that doubles with each repetition. Shared by all workers,
// lock-free.
//
//     auto const wait = failures.count(client, now.mono);     // after key_invalid, and only then
//     if (wait != 0) … 429, Retry-After: wait …               else 401
//
// A table of fixed size without tags: 65,536 words, indexed by a seeded hash of the address (of an
// IPv6 address its first 64 bits, since a client that has one address of such a network has all).
// Two addresses in one word share their failures, which can only hurt clients that fail. Clients
// cannot aim at a word, as the seed is random.
//
// A minute begins with the first failure in it, so an address that never exceeds the allowed number
// in any minute is never refused. Failures during a refusal do not extend it, but they count as
// failures: the state of an address is dropped after 900 seconds without one. Time is counted in
// sixteenths of a second; a refusal ends up to one of them early, and Retry-After is never before
// that end.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"
#include "base/time_units.hpp"
#include "model/address.hpp"

namespace latchkey::limit {

// Stands for all clients whose address is unknown: a multicast address, which no client has. They
// share one count.
inline constexpr model::address unknown_client{{0xff}};

// The network by which a client is counted: the address itself, or the /64 of an IPv6 address.
model::address network_of(model::address const& client);

class auth_failure_limiter {
  public:
    static constexpr std::size_t words = 65'536;
    static constexpr std::uint32_t per_minute_max = 8'000;
    static constexpr std::uint32_t refused_seconds_min = 60;
    static constexpr std::uint32_t refused_seconds_max = 900;
    static constexpr std::uint32_t quiet_seconds = 900;
    static constexpr base::mono_ns refusal_gap = base::millisecond;
    // tolerates a timer that fires late
    static constexpr base::mono_ns refusal_burst = 64 * refusal_gap;
    static constexpr base::mono_ns refusal_wait_max = 1000 * refusal_gap;

    // `per_minute` failures are allowed, at most per_minute_max; 0 disables the limit. `seed` is
    // from the system's random source.
    auth_failure_limiter(std::uint32_t per_minute, std::uint64_t seed);
    // Changes the number from now on; a refusal in force lasts until its end.
    void allow(std::uint32_t per_minute);
    auth_failure_limiter(auth_failure_limiter const&) = delete;
    auth_failure_limiter& operator=(auth_failure_limiter const&) = delete;

    // Counts one more failure. 0: within the limit; else the seconds until the address is no longer
    // refused, 1 to 900. Any thread; no allocation, no system call.
    std::uint32_t count(model::address const& client, base::mono_ns now);

    // The seconds for which the address is refused, without counting anything; 0: it is not.
    std::uint32_t refused_for(model::address const& client, base::mono_ns now) const;

    // When to read again from the connection of an address that was just refused (`count` was not
    // 0): `now` as long as it is refused less than a thousand times a second (with a burst of 64),
    // else as much later as keeps it at that rate, by at most refusal_wait_max. A refusal costs as
    // much as an answer, so a client that sends keys by the ten thousand would otherwise take its
    // share from all others. Threads, allocations and calls as of `count`.
    base::mono_ns resume_at(model::address const& client, base::mono_ns now);

    // The index of the word of an address.
    std::size_t word_of(model::address const& client) const;

  private:
    std::atomic<std::uint32_t> per_minute_;
    std::uint64_t const seed_;
    std::array<std::atomic<std::uint64_t>, words> words_{};
    // GCRA state per sixteen words: when the next refusal of an address is due. Refused addresses
    // that share one are limited together.
    std::array<std::atomic<base::mono_ns>, words / 16> next_{};
};

}  // namespace latchkey::limit
