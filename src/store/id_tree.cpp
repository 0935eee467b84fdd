#include "store/id_tree.hpp"

#include <algorithm>
#include <bit>

#include "base/bytes.hpp"
#include "base/prefetch.hpp"

namespace latchkey::store {
namespace {

// Numbers are the machine's own, in a file that is not meant to move to another kind of machine.
static_assert(std::endian::native == std::endian::little);

// A page begins with its own number, two unused bytes, its kind, the end of its offsets and the
// beginning of its entries. Then come the offsets, one for each entry, in the order of the keys.
constexpr std::size_t page_head = 16, kind_at = 10, offsets_end_at = 12;
constexpr std::uint16_t branch_kind = 0x01, leaf_kind = 0x02;
// An entry is a number of 32 bits, marks, the size of its key, and its key. On a leaf page the
// value follows, and the number is its size. On a branch page the number, with the marks as its
// upper bits, is that of the page below that has the ids from this key on; the first entry's key is
// empty, and stands for all ids before the second's.
constexpr std::size_t entry_head = 8, marks_at = 4, key_size_at = 6, key_size = sizeof(model::id);
// What the unnamed table says of another: counts, the depth of its tree, at last its root.
constexpr std::size_t tree_bytes = 48, depth_at = 6, root_at = 40;
constexpr unsigned depth_max = 32;  // LMDB's own bound
// The first page of the file, behind its head.
constexpr std::size_t magic_at = 16, version_at = 20;
constexpr std::uint32_t magic = 0xBEEFC0DE, data_version = 1;

constexpr std::size_t record_bytes_usual = 192;   // of a user, with its entry's head
constexpr std::uint64_t unreadable = UINT64_MAX;  // no id and no page

template <class Integer>
Integer read(char const* at) {
    Integer value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

}  // namespace

class id_tree::page {
  public:
    page(char const* bytes, std::size_t size, std::uint64_t number, std::uint16_t kind)
        : bytes_(bytes), size_(size) {
        auto const end = read<std::uint16_t>(bytes + offsets_end_at);
        bool const sound = read<std::uint64_t>(bytes) == number &&
                           read<std::uint16_t>(bytes + kind_at) == kind && end >= page_head &&
                           end <= size;
        count_ = sound ? (end - page_head) / sizeof(std::uint16_t) : 0;
    }

    std::size_t count() const { return count_; }  // 0: it is not such a page

    std::uint64_t key(std::size_t index) const {
        auto const* const at = entry(index, key_size);
        if (at == nullptr || read<std::uint16_t>(at + key_size_at) != key_size) return unreadable;
        return base::get<std::uint64_t>(at + entry_head);
    }
    std::uint64_t child(std::size_t index) const {
        auto const* const at = entry(index, 0);
        if (at == nullptr) return unreadable;
        return read<std::uint32_t>(at) | std::uint64_t{read<std::uint16_t>(at + marks_at)} << 32;
    }
    std::optional<std::string_view> value(std::size_t index) const {
        auto const* const at = entry(index, key_size);
        if (at == nullptr || read<std::uint16_t>(at + marks_at) != 0) return std::nullopt;
        auto const* const begin = at + entry_head + key_size;
        auto const size = read<std::uint32_t>(at);
        if (size > static_cast<std::size_t>(bytes_ + size_ - begin)) return std::nullopt;
        return std::string_view(begin, size);
    }

    // Where the key stands if the page's ids are spread evenly. At the right edge of the tree,
    // where no branch says where the ids end, those of the page itself do.
    std::size_t guess(place const& to) const {
        auto const wanted = static_cast<std::uint64_t>(to.wanted), low = to.low;
        auto const high = to.high > low ? to.high : key(count_ - 1) + 1;
        if (wanted >= high) return count_ - 1;
        if (wanted < low || high - low > UINT32_MAX) return count_ / 2;
        return static_cast<std::size_t>((wanted - low) * count_ / (high - low));
    }

    // The last entry from `first` on whose key is not above the wanted; the one before `first` when
    // there is none. Looks at the guess first, and from there on in growing steps until it is
    // between two, which are then halved.
    std::size_t last_not_above(place const& to, std::size_t first) const {
        auto const wanted = static_cast<std::uint64_t>(to.wanted);
        std::size_t begin = first, end = count_;  // the entry behind it is one of these
        if (begin >= end) return begin - 1;
        std::size_t at = std::max(first, guess(to)), step = 1;
        while (begin < end) {
            if (at < begin || at >= end) at = begin + (end - begin) / 2;
            auto const there = key(at);
            if (there == wanted) return at;
            if (there < wanted) {
                begin = at + 1;
                at += step;
            } else {
                end = at;
                at -= std::min(step, at);
            }
            step *= 4;
        }
        return begin - 1;
    }

    // Where `last_not_above` is likely to look first, and so much of what is there.
    void prefetch_offset(place const& to) const {
        if (count_ != 0) base::prefetch(offset_at(guess(to)), sizeof(std::uint16_t));
    }
    void prefetch_entry(place const& to, std::size_t size) const {
        if (count_ == 0) return;
        if (auto const* const there = entry(guess(to), key_size)) base::prefetch(there, size);
    }

  private:
    char const* offset_at(std::size_t index) const {
        return bytes_ + page_head + index * sizeof(std::uint16_t);
    }
    // Null: it is not within the page, with a key of that size.
    char const* entry(std::size_t index, std::size_t with_key) const {
        auto const offset = read<std::uint16_t>(offset_at(index));
        bool const within = offset >= page_head && offset + entry_head + with_key <= size_;
        return within ? bytes_ + offset : nullptr;
    }

    char const* bytes_;
    std::size_t size_;
    std::size_t count_ = 0;
};

void id_tree::follow(MDB_txn* txn, MDB_dbi main, std::string_view table, std::string_view map) {
    map_ = nullptr;
    prefetched_ = {};
    if (map.empty() || read<std::uint32_t>(map.data() + magic_at) != magic ||
        read<std::uint32_t>(map.data() + version_at) != data_version)
        return;
    MDB_val key{table.size(), const_cast<char*>(table.data())}, value;
    if (::mdb_get(txn, main, &key, &value) != 0 || value.mv_size != tree_bytes) return;
    auto const* const tree = static_cast<char const*>(value.mv_data);
    depth_ = read<std::uint16_t>(tree + depth_at);
    root_ = read<std::uint64_t>(tree + root_at);
    MDB_stat stat;
    MDB_envinfo info;
    ::mdb_env_stat(::mdb_txn_env(txn), &stat);
    ::mdb_env_info(::mdb_txn_env(txn), &info);
    page_bytes_ = stat.ms_psize;
    pages_ = std::min<std::uint64_t>(info.me_last_pgno + 1, map.size() / page_bytes_);
    if (depth_ <= depth_max) map_ = map.data();
}

// Without entries when it is no such page.
id_tree::page id_tree::at(place const& there, std::uint16_t kind) const {
    return page(map_ + there.number * page_bytes_, page_bytes_, there.number, kind);
}

// From a branch page to the one below; false: it is not sound.
bool id_tree::descend(place& there) const {
    auto const here = at(there, branch_kind);
    if (here.count() == 0) return false;
    auto const found = here.last_not_above(there, 1);
    if (found != 0) there.low = here.key(found);
    if (found + 1 < here.count()) there.high = here.key(found + 1);
    there.number = here.child(found);
    return there.number < pages_;
}

id_tree::place id_tree::leaf_of(model::id id) const {
    place there{.wanted = id, .number = root_};
    if (root_ >= pages_) return {};
    for (auto level = depth_; level > 1; --level)
        if (!descend(there)) return {};
    return there;
}

// With all of its offsets, but where records are very small.
void id_tree::prefetch_head(place const& there) const {
    base::prefetch(map_ + there.number * page_bytes_, 2 * base::cache_line_bytes);
}

void id_tree::prefetch_entry(place& there) const {
    there.record_asked = true;
    at(there, leaf_kind).prefetch_entry(there, record_bytes_usual);
}

void id_tree::prefetch_page(model::id id) {
    auto& there = prefetched_[index_of(id)];
    if (map_ == nullptr || there.wanted == id) return;
    there = leaf_of(id);
    prefetch_head(there);
}

void id_tree::prefetch_record(model::id id) {
    auto& there = prefetched_[index_of(id)];
    if (map_ != nullptr && there.wanted == id && !there.record_asked) prefetch_entry(there);
}

void id_tree::prefetch(std::span<model::id const> ids) {
    if (map_ == nullptr || root_ >= pages_) return;
    for (; ids.size() > places; ids = ids.subspan(places)) prefetch_some(ids.first(places));
    prefetch_some(ids);
}

void id_tree::prefetch_some(std::span<model::id const> ids) {
    auto const ways = std::span(ways_).first(ids.size());
    for (std::size_t i = 0; i < ways.size(); ++i) ways[i] = {.wanted = ids[i], .number = root_};
    for (auto level = depth_; level > 1; --level) {
        if (level != depth_) prefetch_branches(ways);  // the root is at hand
        for (auto& each : ways)
            if (!descend(each)) each = {};
        for (auto const& each : ways) prefetch_head(each);
    }
    for (auto& each : ways) {
        prefetch_entry(each);
        if (each.wanted != 0) prefetched_[index_of(each.wanted)] = each;
    }
}

// What `descend` is going to read, but for their heads.
void id_tree::prefetch_branches(std::span<place const> ways) const {
    for (auto const& each : ways) at(each, branch_kind).prefetch_offset(each);
    for (auto const& each : ways) at(each, branch_kind).prefetch_entry(each, entry_head + key_size);
}

std::optional<std::string_view> id_tree::find(model::id id) const {
    if (map_ == nullptr) return std::nullopt;
    auto const& asked = prefetched_[index_of(id)];
    auto const there = asked.wanted == id ? asked : leaf_of(id);
    if (there.wanted != id) return std::nullopt;
    auto const here = at(there, leaf_kind);
    auto const found = here.last_not_above(there, 0);
    if (found >= here.count() || here.key(found) != static_cast<std::uint64_t>(id))
        return std::nullopt;
    return here.value(found);
}

}  // namespace latchkey::store
