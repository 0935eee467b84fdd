#include "auth/table.hpp"

#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "base/prefetch.hpp"

namespace latchkey::auth {
namespace {

// The bucket and the tag are taken from different bytes, or all tags of a bucket would be alike.
std::uint16_t tag_of(model::digest const& digest) {
    std::uint16_t bits;
    std::memcpy(&bits, digest.data() + 8, sizeof bits);
    return bits;
}

}  // namespace

table::table(std::size_t entries) : buckets_(entries / ways) {
    base::check(entries >= ways && std::has_single_bit(entries), "a cache of that size");
}

std::size_t table::index_of(model::digest const& digest) const {
    std::uint64_t bits;
    std::memcpy(&bits, digest.data(), sizeof bits);
    return bits & (buckets_.size() - 1);
}

// With its first two ways. Where there are some thousand keys, a bucket seldom has more.
void table::prefetch(model::digest const& digest) const {
    base::prefetch(&buckets_[index_of(digest)], base::cache_line_bytes);
}

table::entry const* table::find(model::digest const& digest) {
    auto const [in, way] = locate(digest);
    if (way == ways) return nullptr;
    in.touched |= 1u << way;
    return &in.who[way];
}

void table::insert(entry who) {
    auto const& digest = who->record.digest;
    auto const [in, there] = locate(digest);
    base::check(there == ways, "a digest twice in the cache");
    unsigned const way = make_room(in);
    in.used |= 1u << way;
    in.touched |= 1u << way;
    in.tags[way] = tag_of(digest);
    in.who[way] = std::move(who);
}

bool table::erase(model::digest const& digest) {
    auto const [in, way] = locate(digest);
    if (way == ways) return false;
    in.used &= ~(1u << way);
    in.who[way].reset();
    return true;
}

std::size_t table::clear() {
    std::size_t count = 0;
    for (auto& each : buckets_) {
        count += static_cast<std::size_t>(std::popcount(each.used));
        each.used = 0;
        for (auto& who : each.who) who.reset();
    }
    return count;
}

table::place table::locate(model::digest const& digest) {
    bucket& in = buckets_[index_of(digest)];
    std::uint16_t const tag = tag_of(digest);
    unsigned alike = 0;
    for (unsigned way = 0; way < ways; ++way) alike |= unsigned{in.tags[way] == tag} << way;
    for (alike &= in.used; alike != 0; alike &= alike - 1) {
        unsigned const way = static_cast<unsigned>(std::countr_zero(alike));
        // It is this one but for once in 65,536 times, and what each request asks is read next.
        auto const& who = *in.who[way];
        auto const* const begin = reinterpret_cast<char const*>(&who);
        auto const* const rest = reinterpret_cast<char const*>(&who.record.name);
        base::prefetch(begin, static_cast<std::size_t>(rest - begin));
        if (who.record.digest == digest) return {in, way};
    }
    return {in, ways};
}

// A free way, or by second chance: the hand passes over those that were found since it last came
// by. It ends, since it takes their marks away.
unsigned table::make_room(bucket& in) {
    unsigned const free = static_cast<std::uint8_t>(~in.used);
    if (free != 0) return static_cast<unsigned>(std::countr_zero(free));
    for (;;) {
        unsigned const way = in.hand;
        in.hand = (in.hand + 1) % ways;
        if ((in.touched >> way & 1u) == 0) return way;
        in.touched &= ~(1u << way);
    }
}

}  // namespace latchkey::auth
