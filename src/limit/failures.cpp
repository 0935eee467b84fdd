#include "limit/failures.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "base/check.hpp"
#include "base/hash.hpp"

namespace latchkey::limit {
namespace {

constexpr std::int64_t ticks_per_second = 16;
constexpr base::mono_ns tick_ns = 1'000'000'000 / ticks_per_second;
constexpr std::int64_t minute = 60 * ticks_per_second;
constexpr std::int64_t quiet = failures::quiet_seconds * ticks_per_second;

// What a word says: 34 bits of time, which is 34 years of the machine's being on, and what is told
// from there. All zero is an address of which nothing is known.
struct history {
    std::uint64_t last : 34 = 0;   // the tick of the last failure
    std::uint64_t span : 14 = 0;   // counting: from the minute's begin to `last`; else to the end
    std::uint64_t count : 13 = 0;  // failures in this minute; 0: it is being refused, or was
    std::uint64_t hits : 3 = 0;    // how often the limit was hit; stays at hits_max
};
static_assert(sizeof(history) == sizeof(std::uint64_t));
static_assert(failures::per_minute_max < 1 << 13);
static_assert(failures::refused_seconds_max * ticks_per_second < 1 << 14);

constexpr unsigned hits_max = 5;

std::int64_t refused_ticks(unsigned hits) {
    return std::min(failures::refused_seconds_min << (hits - 1), failures::refused_seconds_max) *
           ticks_per_second;
}
static_assert(failures::refused_seconds_min << (hits_max - 1) >= failures::refused_seconds_max,
              "the time must have reached its bound where the hits stop");

// When the refusal ends, in ticks; 0: the address is not refused.
std::int64_t refused_until(history const& of) {
    return of.count == 0 ? static_cast<std::int64_t>(of.last + of.span) : 0;
}

// One more failure at `now`.
history after(history const& before, std::int64_t now, std::uint32_t per_minute) {
    auto const last = static_cast<std::int64_t>(before.last);
    now = std::max(now, last);  // another worker's turn may have begun later
    history next = before;
    next.last = static_cast<std::uint64_t>(now);
    if (now - last >= quiet) next.hits = 0;
    if (auto const until = refused_until(before); until > now) {
        next.span = static_cast<std::uint64_t>(until - now);
        return next;
    }
    std::int64_t const begin = last - static_cast<std::int64_t>(before.span);
    if (before.count == 0 || now - begin >= minute) {
        next.count = 1;
        next.span = 0;
    } else if (before.count < per_minute) {
        next.count = before.count + 1;
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

failures::failures(std::uint32_t per_minute, std::uint64_t seed) : seed_(seed) {
    allow(per_minute);
}

void failures::allow(std::uint32_t per_minute) {
    base::check(per_minute <= per_minute_max, "more failed authentications than can be counted");
    per_minute_.store(per_minute, std::memory_order_relaxed);
}

std::size_t failures::word_of(model::address const& client) const {
    auto const network = network_of(client);
    std::string_view const bytes(reinterpret_cast<char const*>(network.bytes.data()),
                                 network.bytes.size());
    return base::hash(bytes, seed_) % words;
}

std::uint32_t failures::count(model::address const& client, base::mono_ns now) {
    auto const per_minute = per_minute_.load(std::memory_order_relaxed);
    if (per_minute == 0) return 0;
    auto& word = words_[word_of(client)];
    auto seen = word.load(std::memory_order_relaxed);
    for (;;) {
        auto const next = after(std::bit_cast<history>(seen), now / tick_ns, per_minute);
        auto const wanted = std::bit_cast<std::uint64_t>(next);
        // Unchanged within a tick of a refusal: a flood of failures only reads.
        if (wanted != seen && !word.compare_exchange_weak(seen, wanted, std::memory_order_relaxed))
            continue;
        auto const left = refused_until(next) * tick_ns - now;
        constexpr base::mono_ns second = 1'000'000'000;
        return left <= 0 ? 0 : static_cast<std::uint32_t>((left + second - 1) / second);
    }
}

// The generic cell rate algorithm as a virtual schedule (ITU-T I.371).
base::mono_ns failures::hear_again(model::address const& client, base::mono_ns now) {
    auto& next = next_[word_of(client) % next_.size()];
    auto seen = next.load(std::memory_order_relaxed);
    for (;;) {
        auto const due = std::clamp(seen, now - refusal_burst, now + refusal_wait_max);
        if (next.compare_exchange_weak(seen, due + refusal_gap, std::memory_order_relaxed))
            return std::max(due, now);
    }
}

}  // namespace latchkey::limit
