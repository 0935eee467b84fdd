#include "limit/buckets.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "base/check.hpp"

namespace latchkey::limit {
namespace {

using slot = std::atomic<std::int64_t>;

// What a bucket looked like at one moment: the word that a charge must find unchanged, and how far
// it lies ahead of now, which is the time until the bucket is full.
struct sight {
    std::int64_t arrival = 0;
    std::int64_t debt = 0;
};

// The words of a line are independent of each other, so their own modification order is all that
// is needed, but for one thing: whoever sees a charge must see a newest time that is no older. So a
// charge releases and a look acquires.
constexpr auto order = std::memory_order_relaxed;

bool replace(slot& at, std::int64_t& expected, std::int64_t wanted) {
    return at.compare_exchange_weak(expected, wanted, std::memory_order_release, order);
}

std::int64_t debt_of(std::int64_t arrival, base::mono_ns now) {
    return std::max<std::int64_t>(0, arrival - now);
}

sight see(std::int64_t arrival, base::mono_ns now) {
    return {arrival, debt_of(arrival, now)};
}

// Reads a bucket, and lowers it first when a slower setting has left it beyond all debts that this
// rule can make. That must be written, not only assumed: measured against a later now it would
// again be as far ahead, and the key would wait for the old setting's time after all. It is
// measured against the newest time, for a worker that lags behind would take the charges of the
// others for such a setting and give their tokens out again.
sight look(slot& at, rule const& by, base::mono_ns now, std::atomic<std::int64_t> const& newest) {
    std::int64_t const debt_max = by.capacity_ns + skew_max_ns;
    std::int64_t arrival = at.load(std::memory_order_acquire);
    while (arrival - now > debt_max) [[unlikely]] {
        std::int64_t const most = std::max(now, newest.load(order)) + debt_max;
        if (arrival <= most) break;
        bool const lowered = replace(at, arrival, most);
        arrival = lowered ? most : at.load(std::memory_order_acquire);
    }
    return see(arrival, now);
}

// How much of the debt must refill before the cost fits; 0 or less: it fits. Needs cost ≤ burst,
// which also keeps cost × T inside 64 bits.
std::int64_t wait_for(std::int64_t debt, rule const& by, std::uint32_t cost) {
    return debt - (by.capacity_ns - cost * by.interval_ns);
}

bool fits(std::int64_t debt, rule const& by, std::uint32_t cost) {
    return cost <= by.burst && wait_for(debt, by, cost) <= 0;
}

// Takes the tokens, if they are still there.
bool charge(slot& at, rule const& by, base::mono_ns now, std::uint32_t cost, sight& seen) {
    do {
        if (!fits(seen.debt, by, cost)) return false;
        std::int64_t const debt = seen.debt + cost * by.interval_ns;
        if (replace(at, seen.arrival, now + debt)) {
            seen = {now + debt, debt};
            return true;
        }
        seen = see(seen.arrival, now);
    } while (true);
}

// How far ahead of now a lease would leave a bucket: as if all its tokens were spent at its end.
std::int64_t leased_debt(std::int64_t debt, rule const& by, std::uint32_t tokens) {
    return std::max(debt, lease_ns) + tokens * by.interval_ns;
}

bool may_lease(std::int64_t debt, rule const& by, std::uint32_t tokens) {
    return tokens <= by.burst &&
           leased_debt(debt, by, tokens) <= std::min(by.capacity_ns / 2, lease_debt_max_ns);
}

bool charge_lease(slot& at, rule const& by, base::mono_ns now, std::uint32_t tokens, sight& seen) {
    do {
        if (!may_lease(seen.debt, by, tokens)) return false;
        std::int64_t const arrival = now + leased_debt(seen.debt, by, tokens);
        if (replace(at, seen.arrival, arrival)) {
            seen.arrival = arrival;
            return true;
        }
        seen = see(seen.arrival, now);
    } while (true);
}

std::uint32_t seconds_rounded_up(std::int64_t ns) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    std::uint64_t const seconds = (static_cast<std::uint64_t>(ns) + 999'999'999) / 1'000'000'000;
    return static_cast<std::uint32_t>(std::min(seconds, most));
}

std::uint32_t retry_after(std::int64_t debt, rule const& by, std::uint32_t cost) {
    if (cost > by.burst) return decision::never;
    return seconds_rounded_up(std::max<std::int64_t>(0, wait_for(debt, by, cost)));
}

decision refuse_for_ever(std::size_t count) {
    decision seen;
    seen.count = static_cast<std::uint8_t>(count);
    seen.violated = static_cast<std::uint8_t>((1u << count) - 1);
    seen.retry_after = decision::never;
    return seen;
}

}  // namespace

standing standing_of(std::int64_t debt, rule const& by) {
    std::int64_t const left = std::max<std::int64_t>(0, by.capacity_ns - debt);
    return {static_cast<std::uint32_t>(left / by.interval_ns), seconds_rounded_up(debt)};
}

decision buckets::admit(model::id key, policy const& rules, base::mono_ns now, std::uint32_t cost) {
    decision seen;
    std::size_t const count = rules.rules.size();
    if (count == 0) return seen;
    if (static_cast<std::uint64_t>(key) >= keys_) [[unlikely]]
        return cost == 0 ? seen : refuse_for_ever(count);
    note(static_cast<std::uint64_t>(key), now);

    auto& arrivals = lines_[key].arrival;
    std::array<sight, model::rate_limits_max> sights;
    seen.count = static_cast<std::uint8_t>(count);
    for (std::size_t i = 0; i < count; ++i) {
        rule const& by = rules.rules[i];
        sights[i] = look(arrivals[by.slot], by, now, newest_);
        if (cost != 0 && !fits(sights[i].debt, by, cost)) seen.violated |= 1u << i;
    }
    if (cost != 0 && seen.admitted()) {
        for (std::size_t n = 0; n < count && seen.admitted(); ++n) {
            std::size_t const i = rules.by_slot[n];
            rule const& by = rules.rules[i];
            if (!charge(arrivals[by.slot], by, now, cost, sights[i])) seen.violated |= 1u << i;
        }
    }
    for (std::size_t i = 0; i < count; ++i)
        seen.standings[i] = standing_of(sights[i].debt, rules.rules[i]);
    // After a lost race the limits that were charged count too, not only the one that refused: the
    // client must wait for all of them.
    if (!seen.admitted()) [[unlikely]]
        for (std::size_t i = 0; i < count; ++i)
            seen.retry_after =
                std::max(seen.retry_after, retry_after(sights[i].debt, rules.rules[i], cost));
    return seen;
}

bool buckets::lease(model::id key, policy const& rules, base::mono_ns now, std::uint32_t tokens,
                    debts& arrivals) {
    if (static_cast<std::uint64_t>(key) >= keys_) return false;
    note(static_cast<std::uint64_t>(key), now);
    auto& words = lines_[key].arrival;
    std::array<sight, model::rate_limits_max> sights;
    for (std::size_t i = 0; i < rules.rules.size(); ++i) {
        rule const& by = rules.rules[i];
        sights[i] = look(words[by.slot], by, now, newest_);
        if (!may_lease(sights[i].debt, by, tokens)) return false;
    }
    for (std::size_t n = 0; n < rules.rules.size(); ++n) {
        std::size_t const i = rules.by_slot[n];
        rule const& by = rules.rules[i];
        if (!charge_lease(words[by.slot], by, now, tokens, sights[i])) return false;
        arrivals[i] = sights[i].arrival;
    }
    return true;
}

// Written once in the life of a key and once in newest_step_ns, so that the line of these words
// stays shared. Before the charge: one that another worker sees must not be newer than it can know.
void buckets::note(std::uint64_t key, base::mono_ns now) {
    auto newest = newest_.load(order);
    while (now > newest + newest_step_ns) [[unlikely]]
        if (newest_.compare_exchange_weak(newest, now, order)) break;
    auto end = end_.load(order);
    while (key >= end) [[unlikely]]
        if (end_.compare_exchange_weak(end, key + 1, order)) return;
}

void buckets::each_debt(base::mono_ns now,
                        base::function_ref<bool(model::id, debts const&)> see) const {
    for (std::uint64_t key = 1, end = end_.load(order); key < end; ++key) {
        debts owed;
        std::int64_t most = 0;
        for (std::size_t i = 0; i < owed.size(); ++i) {
            owed[i] = debt_of(lines_[key].arrival[i].load(order), now);
            most = std::max(most, owed[i]);
        }
        if (most != 0 && !see(static_cast<model::id>(key), owed)) return;
    }
}

void buckets::restore_debt(model::id key, debts const& owed, base::mono_ns now) {
    if (static_cast<std::uint64_t>(key) >= keys_) return;
    note(static_cast<std::uint64_t>(key), now);
    for (std::size_t i = 0; i < owed.size(); ++i)
        if (owed[i] != 0) lines_[key].arrival[i].store(now + owed[i], order);
}

base::result<std::unique_ptr<buckets>> buckets::make(std::uint64_t keys) {
    base::check(keys > 0 && keys <= keys_max, "a table of buckets of that size");
    void* const memory = mmap(nullptr, keys * sizeof(line), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return base::errno_error("cannot reserve address space for the token buckets", errno);
    // The kernel's zeroed pages are the lines: an atomic word of 64 bits has no other state.
    static_assert(sizeof(line) == 64 && slot::is_always_lock_free);
    return std::unique_ptr<buckets>(new buckets(static_cast<line*>(memory), keys));
}

buckets::~buckets() {
    munmap(lines_, keys_ * sizeof(line));
}

}  // namespace latchkey::limit
