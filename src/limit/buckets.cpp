// `admit` reads the buckets of all limits, and charges them by compare-and-swap only if all have
// room; whoever loses a race reads again and may refuse after all. Charges go by slot, not in the
// order of the rules, so that workers with different rules of a key meet in one order. A bucket is
// two words (arrival, generation) that are replaced at once and read one by one.
#include "limit/buckets.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "base/check.hpp"

namespace latchkey::limit {
namespace {

using word = buckets::word;

// A bucket at one moment: the value that a charge must find unchanged (compare-and-swap), and how
// far it lies ahead of now, which is the time until the bucket is full.
struct observation {
    word value;
    std::int64_t debt = 0;
    bool removed = false;  // another limit has taken over the slot
};

// Memory order: the buckets of a key are independent, so each one's modification order is enough,
// with one exception: a worker that sees a charge must see a newest time that is no older. So a
// charge releases and a read acquires.
constexpr int order = __ATOMIC_RELAXED;

// Compare-and-swap of both words; std::atomic of a pair would also make every load a locked write
// on x86-64.
bool replace(word& bucket, word& expected, word desired) {
    return __atomic_compare_exchange(&bucket, &expected, &desired, true, __ATOMIC_RELEASE, order);
}

// Generations only ascend, so a TAT read between two reads of the same generation belongs to it.
word load(word const& bucket) {
    for (;;) {
        auto const generation = __atomic_load_n(&bucket.generation, __ATOMIC_ACQUIRE);
        auto const arrival = __atomic_load_n(&bucket.arrival, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&bucket.generation, order) == generation) [[likely]]
            return {arrival, generation};
    }
}

std::int64_t debt_of(std::int64_t arrival, base::mono_ns now) {
    return std::max<std::int64_t>(0, arrival - now);
}

observation observe(word value, rule const& rule, base::mono_ns now) {
    bool const same = value.generation == rule.generation;
    return {value, same ? debt_of(value.arrival, now) : 0, value.generation > rule.generation};
}

// Reads a bucket, and first lowers a TAT that an earlier, slower setting left beyond every debt of
// this rule. Written back, or it would be as far ahead of a later now; measured against the newest
// time, or a worker that lags behind would take the charges of others for such a setting.
observation read_bucket(word& bucket, rule const& rule, base::mono_ns now,
                        std::atomic<std::int64_t> const& newest) {
    std::int64_t const debt_max = rule.capacity_ns + skew_max_ns;
    auto value = load(bucket);
    while (value.arrival - now > debt_max && value.generation == rule.generation) [[unlikely]] {
        word const limit{std::max(now, newest.load(std::memory_order_relaxed)) + debt_max,
                         rule.generation};
        if (value.arrival <= limit.arrival) break;
        value = replace(bucket, value, limit) ? limit : load(bucket);
    }
    return observe(value, rule, now);
}

// The part of the debt that must refill before the cost fits; 0 or less: it fits. Requires cost ≤
// burst, which also keeps cost × T inside 64 bits.
std::int64_t wait_for(std::int64_t debt, rule const& rule, std::uint32_t cost) {
    return debt - (rule.capacity_ns - cost * rule.interval_ns);
}

bool fits(std::int64_t debt, rule const& rule, std::uint32_t cost) {
    return cost <= rule.burst && wait_for(debt, rule, cost) <= 0;
}

// Takes the tokens if they are still there. A limit that was removed has none to take.
bool charge(word& bucket, rule const& rule, base::mono_ns now, std::uint32_t cost,
            observation& state) {
    do {
        if (!fits(state.debt, rule, cost)) return false;
        if (state.removed) [[unlikely]]
            return true;
        std::int64_t const debt = state.debt + cost * rule.interval_ns;
        word const desired{now + debt, rule.generation};
        if (replace(bucket, state.value, desired)) {
            state = {desired, debt, false};
            return true;
        }
        state = observe(state.value, rule, now);
    } while (true);
}

// The debt that a lease would leave: as if all its tokens were spent at its end.
std::int64_t leased_debt(std::int64_t debt, rule const& rule, std::uint32_t tokens) {
    return std::max(debt, lease_ns) + tokens * rule.interval_ns;
}

bool may_lease(std::int64_t debt, rule const& rule, std::uint32_t tokens) {
    return tokens <= rule.burst &&
           leased_debt(debt, rule, tokens) <= std::min(rule.capacity_ns / 2, lease_debt_max_ns);
}

bool charge_lease(word& bucket, rule const& rule, base::mono_ns now, std::uint32_t tokens,
                  observation& state) {
    do {
        if (state.removed || !may_lease(state.debt, rule, tokens)) return false;
        word const desired{now + leased_debt(state.debt, rule, tokens), rule.generation};
        if (replace(bucket, state.value, desired)) {
            state.value = desired;
            return true;
        }
        state = observe(state.value, rule, now);
    } while (true);
}

std::uint32_t retry_after(std::int64_t debt, rule const& rule, std::uint32_t cost) {
    if (cost > rule.burst) return decision::never;
    return whole_seconds(std::max<std::int64_t>(0, wait_for(debt, rule, cost)));
}

void refuse_permanently(std::size_t count, decision& result) {
    result.count = static_cast<std::uint8_t>(count);
    result.violated = static_cast<std::uint8_t>((1u << count) - 1);
    result.retry_after = decision::never;
}

}  // namespace

decision buckets::admit(model::id key, policy const& policy, base::mono_ns now,
                        std::uint32_t cost) {
    decision result;
    std::size_t const count = policy.rules.size();
    if (count == 0) return result;
    if (static_cast<std::uint64_t>(key) >= keys_) [[unlikely]] {
        if (cost != 0) refuse_permanently(count, result);
        return result;
    }
    auto const index = static_cast<std::uint64_t>(key);
    mark_used(index, policy.wide, now);
    if (!policy.predecessors.empty()) [[unlikely]]
        inherit(index, policy, now);

    std::array<observation, model::rate_limits_max> observations;
    result.count = static_cast<std::uint8_t>(count);
    for (std::size_t i = 0; i < count; ++i) {
        rule const& rule = policy.rules[i];
        observations[i] = read_bucket(bucket(index, rule.slot), rule, now, newest_);
        if (cost != 0 && !fits(observations[i].debt, rule, cost)) result.violated |= 1u << i;
    }
    if (cost != 0 && result.admitted()) {
        for (std::size_t n = 0; n < count && result.admitted(); ++n) {
            std::size_t const i = policy.by_slot[n];
            rule const& rule = policy.rules[i];
            if (!charge(bucket(index, rule.slot), rule, now, cost, observations[i]))
                result.violated |= 1u << i;
        }
    }
    for (std::size_t i = 0; i < count; ++i)
        result.levels[i] = level_of(observations[i].debt, policy.rules[i]);
    // After a lost race the limits that were charged count too, not only the one that refused: the
    // client must wait for all of them.
    if (!result.admitted()) [[unlikely]]
        for (std::size_t i = 0; i < count; ++i)
            result.retry_after = std::max(result.retry_after,
                                          retry_after(observations[i].debt, policy.rules[i], cost));
    return result;
}

bool buckets::lease(model::id key, policy const& policy, base::mono_ns now, std::uint32_t tokens,
                    debts& arrivals) {
    if (static_cast<std::uint64_t>(key) >= keys_) return false;
    auto const index = static_cast<std::uint64_t>(key);
    mark_used(index, policy.wide, now);
    if (!policy.predecessors.empty()) [[unlikely]]
        inherit(index, policy, now);
    std::array<observation, model::rate_limits_max> observations;
    for (std::size_t rule_index = 0; rule_index < policy.rules.size(); ++rule_index) {
        rule const& rule = policy.rules[rule_index];
        observations[rule_index] = read_bucket(bucket(index, rule.slot), rule, now, newest_);
        if (!may_lease(observations[rule_index].debt, rule, tokens)) return false;
    }
    for (std::size_t order = 0; order < policy.rules.size(); ++order) {
        std::size_t const rule_index = policy.by_slot[order];
        rule const& rule = policy.rules[rule_index];
        if (!charge_lease(bucket(index, rule.slot), rule, now, tokens, observations[rule_index]))
            return false;
        arrivals[rule_index] = observations[rule_index].value.arrival;
    }
    return true;
}

// Written once in the life of a key and once per newest_step_ns, so that the cache line of these
// words stays shared between cores. Called before the charge: a charge that another worker sees
// must not be newer than the newest time it can read.
void buckets::mark_used(std::uint64_t key, bool wide, base::mono_ns now) {
    auto newest = newest_.load(std::memory_order_relaxed);
    while (now > newest + newest_step_ns) [[unlikely]]
        if (newest_.compare_exchange_weak(newest, now, std::memory_order_relaxed)) break;
    for (std::size_t i = 0; i < (wide ? key_lines : 1); ++i) {
        auto end = end_[i].load(std::memory_order_relaxed);
        while (key >= end) [[unlikely]]
            if (end_[i].compare_exchange_weak(end, key + 1, std::memory_order_relaxed)) break;
    }
}

// A word of zeros was never written; the first of several workers fills it, for all.
void buckets::inherit(std::uint64_t key, policy const& policy, base::mono_ns now) {
    for (std::size_t i = 0; i < policy.rules.size(); ++i) {
        auto& own = bucket(key, policy.rules[i].slot);
        auto value = load(own);
        if (value.arrival != 0 || value.generation != 0) continue;
        word inherited{now, policy.rules[i].generation};
        for (auto const& each : policy.predecessors) {
            auto const id = static_cast<std::uint64_t>(each.key);
            if (each.slots[i] == predecessor::no_slot || id >= keys_) continue;
            auto const level = load(bucket(id, each.slots[i]));
            if (level.generation == each.generations[i])
                inherited.arrival = std::max(inherited.arrival, level.arrival);
        }
        while (value.arrival == 0 && value.generation == 0)
            if (replace(own, value, inherited)) break;
    }
}

void buckets::each_debt(base::mono_ns now,
                        base::function_ref<bool(model::id, bucket_debts const&)> visit) const {
    std::uint64_t const wide_end = end_[1].load(std::memory_order_relaxed);
    for (std::uint64_t key = 1, end = end_[0].load(std::memory_order_relaxed); key < end; ++key) {
        bucket_debts debts;
        std::int64_t debt_max = 0;
        for (std::size_t i = 0; i < (key < wide_end ? model::rate_limits_max : line_slots); ++i) {
            auto const value = load(bucket(key, i));
            debts.debt[i] = debt_of(value.arrival, now);
            debts.generation[i] = value.generation;
            debt_max = std::max(debt_max, debts.debt[i]);
        }
        if (debt_max != 0 && !visit(static_cast<model::id>(key), debts)) return;
    }
}

void buckets::restore_debt(model::id key, bucket_debts const& debts, base::mono_ns now) {
    if (static_cast<std::uint64_t>(key) >= keys_) return;
    bool wide = false;
    for (std::size_t i = 0; i < debts.debt.size(); ++i) {
        if (debts.debt[i] == 0) continue;
        wide = wide || i >= line_slots;
        bucket(static_cast<std::uint64_t>(key), i) = {now + debts.debt[i], debts.generation[i]};
    }
    mark_used(static_cast<std::uint64_t>(key), wide, now);
}

base::result<std::unique_ptr<buckets>> buckets::make(std::uint64_t keys) {
    // It is a constant of the program.
    base::check(keys > 0 && keys <= keys_max, "a table of buckets of that size");
    void* const memory = mmap(nullptr, key_lines * keys * sizeof(line), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return base::errno_error("cannot reserve address space for the token buckets", errno);
    // The zeroed pages of the kernel are the lines: no construction.
    static_assert(sizeof(line) == 64 && __atomic_always_lock_free(sizeof(word), nullptr));
    return std::unique_ptr<buckets>(new buckets(static_cast<line*>(memory), keys));
}

buckets::~buckets() {
    munmap(lines_, key_lines * keys_ * sizeof(line));
}

}  // namespace latchkey::limit
