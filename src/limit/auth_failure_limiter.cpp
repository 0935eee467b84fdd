#include "limit/auth_failure_limiter.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "base/time_units.hpp"

namespace latchkey::limit {
namespace {

constexpr std::int64_t ticks_per_second = 16;
constexpr base::mono_ns tick_ns = base::second / ticks_per_second;
constexpr std::int64_t minute = 60 * ticks_per_second;
constexpr std::int64_t quiet_ticks = auth_failure_limiter::quiet_seconds * ticks_per_second;

// A word: 34 bits of time, which is 34 years of uptime, and values relative to it. Zero: an address
// without known failures.
struct history {
    std::uint64_t last : 34 = 0;  // the tick of the last failure
    // counting: ticks from the start of the minute to `last`; refused: from `last` to the end
    std::uint64_t span : 14 = 0;
    std::uint64_t count : 13 = 0;  // failures in this minute; 0: refused now or before
    std::uint64_t hits : 3 = 0;    // how often the limit was hit, saturating at hits_max
};
static_assert(sizeof(history) == sizeof(std::uint64_t));
static_assert(auth_failure_limiter::per_minute_max < 1 << 13);
static_assert(auth_failure_limiter::refused_seconds_max * ticks_per_second < 1 << 14);

constexpr unsigned hits_max = 5;

std::int64_t refused_ticks(unsigned hits) {
    return std::min(auth_failure_limiter::refused_seconds_min << (hits - 1),
                    auth_failure_limiter::refused_seconds_max) *
           ticks_per_second;
}
static_assert(auth_failure_limiter::refused_seconds_min << (hits_max - 1) >=
                  auth_failure_limiter::refused_seconds_max,
              "the time must have reached its bound where the hits stop");

// The tick at which the refusal ends; 0: the address is not refused.
std::int64_t refusal_end(history const& state) {
    return state.count == 0 ? static_cast<std::int64_t>(state.last + state.span) : 0;
}

// Rounded up; 0: that tick has passed.
std::uint32_t seconds_until(std::int64_t tick, base::mono_ns now) {
    auto const wait = tick * tick_ns - now;
    return wait <= 0 ? 0 : static_cast<std::uint32_t>((wait + base::second - 1) / base::second);
}

// The state after one more failure at `now`.
history add_failure(history const& state, std::int64_t now, std::uint32_t per_minute) {
    auto const last = static_cast<std::int64_t>(state.last);
    now = std::max(now, last);  // the turn of another worker may have begun later
    history next = state;
    next.last = static_cast<std::uint64_t>(now);
    if (now - last >= quiet_ticks) next.hits = 0;
    if (auto const refusal_tick = refusal_end(state); refusal_tick > now) {
        next.span = static_cast<std::uint64_t>(refusal_tick - now);
        return next;
    }
    std::int64_t const begin = last - static_cast<std::int64_t>(state.span);
    if (state.count == 0 || now - begin >= minute) {
        next.count = 1;
        next.span = 0;
    } else if (state.count < per_minute) {
        next.count = state.count + 1;
        next.span = static_cast<std::uint64_t>(now - begin);
    } else {
        next.hits = std::min<unsigned>(next.hits + 1, hits_max);
        next.count = 0;
        next.span = static_cast<std::uint64_t>(refused_ticks(next.hits));
    }
    return next;
}

}  // namespace

model::address network_of(model::address const& client) {
    auto network = client;
    if (!client.is_v4()) std::fill(network.bytes.begin() + 8, network.bytes.end(), std::uint8_t{0});
    return network;
}

auth_failure_limiter::auth_failure_limiter(std::uint32_t per_minute, std::uint64_t seed)
    : seed_(seed) {
    allow(per_minute);
}

void auth_failure_limiter::allow(std::uint32_t per_minute) {
    // The setting has the same bound.
    base::check(per_minute <= per_minute_max, "more failed authentications than can be counted");
    per_minute_.store(per_minute, std::memory_order_relaxed);
}

std::size_t auth_failure_limiter::word_of(model::address const& client) const {
    auto const network = network_of(client);
    std::string_view const bytes(reinterpret_cast<char const*>(network.bytes.data()),
                                 network.bytes.size());
    return base::hash(bytes, seed_) % words;
}

std::uint32_t auth_failure_limiter::count(model::address const& client, base::mono_ns now) {
    auto const per_minute = per_minute_.load(std::memory_order_relaxed);
    if (per_minute == 0) return 0;
    auto& word = words_[word_of(client)];
    auto value = word.load(std::memory_order_relaxed);
    for (;;) {
        auto const next = add_failure(std::bit_cast<history>(value), now / tick_ns, per_minute);
        auto const desired = std::bit_cast<std::uint64_t>(next);
        // Within a tick of a refusal the word is unchanged, so a flood of failures only reads.
        if (desired != value &&
            !word.compare_exchange_weak(value, desired, std::memory_order_relaxed))
            continue;
        return seconds_until(refusal_end(next), now);
    }
}

std::uint32_t auth_failure_limiter::refused_for(model::address const& client,
                                                base::mono_ns now) const {
    if (per_minute_.load(std::memory_order_relaxed) == 0) return 0;
    auto const value = words_[word_of(client)].load(std::memory_order_relaxed);
    return seconds_until(refusal_end(std::bit_cast<history>(value)), now);
}

// GCRA in its virtual scheduling form (ITU-T I.371 annex A).
base::mono_ns auth_failure_limiter::resume_at(model::address const& client, base::mono_ns now) {
    auto& next = next_[word_of(client) % next_.size()];
    auto value = next.load(std::memory_order_relaxed);
    for (;;) {
        auto const due = std::clamp(value, now - refusal_burst, now + refusal_wait_max);
        if (next.compare_exchange_weak(value, due + refusal_gap, std::memory_order_relaxed))
            return std::max(due, now);
    }
}

}  // namespace latchkey::limit
