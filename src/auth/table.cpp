#include "auth/table.hpp"

#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "base/prefetch.hpp"

namespace latchkey::auth {
namespace {

// Bucket and tag use different bytes; otherwise the tags of a bucket would be correlated.
std::uint16_t tag_of(model::digest const& digest) {
    std::uint16_t bits;
    std::memcpy(&bits, digest.data() + 8, sizeof bits);
    return bits;
}

}  // namespace

table::table(std::size_t entries) : buckets_(entries / ways) {
    // It is a constant of the program.
    base::check(entries >= ways && std::has_single_bit(entries), "a cache of that size");
}

std::size_t table::index_of(model::digest const& digest) const {
    std::uint64_t bits;
    std::memcpy(&bits, digest.data(), sizeof bits);
    return bits & (buckets_.size() - 1);
}

// The bucket's first cache line, with its first two ways; with some thousand keys a bucket seldom
// has more.
void table::prefetch(model::digest const& digest) const {
    base::prefetch(&buckets_[index_of(digest)], base::cache_line_bytes);
}

table::entry const* table::find(model::digest const& digest) {
    auto const [set, way] = locate(digest);
    if (way == ways) return nullptr;
    set.touched |= 1u << way;
    return &set.entries[way];
}

void table::insert(entry added) {
    auto const& digest = added->record.digest;
    auto const [set, present_way] = locate(digest);
    // Inserted only after a look-up of the same thread that did not find it, with that digest.
    base::check(present_way == ways, "a digest twice in the cache");
    unsigned const way = make_room(set);
    set.ways_in_use |= 1u << way;
    set.touched |= 1u << way;
    set.tags[way] = tag_of(digest);
    set.entries[way] = std::move(added);
}

bool table::erase(model::digest const& digest) {
    auto const [set, way] = locate(digest);
    if (way == ways) return false;
    set.ways_in_use &= ~(1u << way);
    set.entries[way].reset();
    return true;
}

std::size_t table::clear() {
    std::size_t count = 0;
    for (auto& each : buckets_) {
        count += static_cast<std::size_t>(std::popcount(each.ways_in_use));
        each.ways_in_use = 0;
        for (auto& entry : each.entries) entry.reset();
    }
    return count;
}

table::location table::locate(model::digest const& digest) {
    bucket& set = buckets_[index_of(digest)];
    std::uint16_t const tag = tag_of(digest);
    unsigned alike = 0;
    for (unsigned way = 0; way < ways; ++way) alike |= unsigned{set.tags[way] == tag} << way;
    for (alike &= set.ways_in_use; alike != 0; alike &= alike - 1) {
        unsigned const way = static_cast<unsigned>(std::countr_zero(alike));
        // Wrong once in 65,536 times, so what each request reads next is prefetched before the
        // comparison.
        auto const& entry = *set.entries[way];
        auto const* const begin = reinterpret_cast<char const*>(&entry);
        auto const* const rest = reinterpret_cast<char const*>(&entry.record.name);
        base::prefetch(begin, static_cast<std::size_t>(rest - begin));
        if (entry.record.digest == digest) return {set, way};
    }
    return {set, ways};
}

// A free way, or one by second chance: the hand skips ways that were found since its last pass and
// clears their bits, so the loop ends.
unsigned table::make_room(bucket& set) {
    unsigned const free = static_cast<std::uint8_t>(~set.ways_in_use);
    if (free != 0) return static_cast<unsigned>(std::countr_zero(free));
    for (;;) {
        unsigned const way = set.hand;
        set.hand = (set.hand + 1) % ways;
        if ((set.touched >> way & 1u) == 0) return way;
        set.touched &= ~(1u << way);
    }
}

}  // namespace latchkey::auth
