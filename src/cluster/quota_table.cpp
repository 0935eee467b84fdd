#include "cluster/quota_table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "base/check.hpp"

namespace latchkey::cluster {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

std::uint32_t quota_entry::tokens_at(boot_ns time) const {
    return quota_word::tokens_at(grants[0].load(relaxed), time) +
           quota_word::tokens_at(grants[1].load(relaxed), time);
}

std::uint32_t quota_entry::tokens() const {
    return quota_word::tokens(grants[0].load(relaxed)) +
           quota_word::tokens(grants[1].load(relaxed));
}

boot_ns quota_entry::take(boot_ns now, std::uint32_t tokens) {
    bool const swapped =
        quota_word::end(grants[1].load(relaxed)) < quota_word::end(grants[0].load(relaxed));
    for (std::size_t const index : {swapped ? 1u : 0u, swapped ? 0u : 1u}) {
        auto word = grants[index].load(relaxed);
        while (quota_word::tokens_at(word, now) >= tokens)
            if (grants[index].compare_exchange_weak(word, word - tokens, relaxed))
                return quota_word::end(word);
    }
    return 0;
}

bool quota_entry::is_due(boot_ns now) const {
    return (now >= renewal.load(relaxed) || tokens_at(now) < low.load(relaxed)) &&
           !is_reported.load(relaxed);
}

std::uint32_t quota_entry::put(boot_ns now, std::uint32_t tokens, boot_ns end) {
    auto const first = quota_word::tokens_at(grants[0].load(relaxed), now);
    auto const second = quota_word::tokens_at(grants[1].load(relaxed), now);
    auto& place = grants[first <= second ? 0 : 1];
    return quota_word::tokens(place.exchange(quota_word::of(tokens, end), relaxed));
}

void quota_entry::clear() {
    for (auto& each : grants) each.store(0, relaxed);
    renewal.store(0, relaxed);
    refusal.store(0, relaxed);
    low.store(0, relaxed);
    for (auto& each : arrivals) each.store(0, relaxed);
}

base::result<std::unique_ptr<quota_table>> quota_table::make(std::uint64_t keys) {
    // It is a constant of the program.
    base::check(keys > 0 && keys <= keys_max, "a table of tokens of that size");
    void* const memory = mmap(nullptr, keys * sizeof(quota_entry), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return base::errno_error("cannot reserve address space for the tokens of keys", errno);
    // The zeroed pages of the kernel are the entries: no construction.
    static_assert(sizeof(quota_entry) == 128 && std::atomic<std::uint64_t>::is_always_lock_free);
    return std::unique_ptr<quota_table>(new quota_table(static_cast<quota_entry*>(memory), keys));
}

quota_table::~quota_table() {
    munmap(entries_, keys_ * sizeof(quota_entry));
}

}  // namespace latchkey::cluster
