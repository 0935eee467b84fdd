// A descent keeps the range of ids that the branch entries give, from which each page's slot is
// estimated; steps of 1, 4, 16 … and bisection correct a wrong estimate. Prefetching walks a group
// of ids level by level, so that their cache misses overlap, and keeps the leaf of each id in a
// small table. Every offset is checked against its page before it is followed.
#include "store/pages/id_tree.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/prefetch.hpp"
#include "store/pages/lmdb_format.hpp"

namespace latchkey::store {
namespace {

using lmdb::read;

constexpr std::size_t key_size = sizeof(model::id);
constexpr std::size_t record_bytes_usual = 192;   // of a user, with the head of its entry
constexpr std::uint64_t unreadable = UINT64_MAX;  // as an id and as a page number

}  // namespace

// A view of one page. Nothing in it is trusted: what lies outside the page reads as absent.
class id_tree::page {
  public:
    page(char const* bytes, std::size_t size, std::uint64_t number, std::uint16_t kind)
        : bytes_(bytes), size_(size) {
        auto const end = read<std::uint16_t>(bytes + lmdb::lower_offset);
        bool const sound = read<std::uint64_t>(bytes) == number &&
                           read<std::uint16_t>(bytes + lmdb::kind_offset) == kind &&
                           end >= lmdb::page_head && end <= size;
        count_ = sound ? (end - lmdb::page_head) / sizeof(std::uint16_t) : 0;
    }

    std::size_t count() const { return count_; }  // of entries; 0: not a page of that kind

    std::uint64_t key(std::size_t index) const {
        auto const* const node = entry(index, key_size);
        if (node == nullptr || read<std::uint16_t>(node + lmdb::key_size_offset) != key_size)
            return unreadable;
        return base::get<std::uint64_t>(node + lmdb::entry_head);
    }
    std::uint64_t child(std::size_t index) const {
        auto const* const node = entry(index, 0);
        if (node == nullptr) return unreadable;
        auto const upper = std::uint64_t{read<std::uint16_t>(node + lmdb::marks_offset)};
        return read<std::uint32_t>(node) | upper << 32;
    }
    std::optional<std::string_view> value(std::size_t index) const {
        auto const* const node = entry(index, key_size);
        if (node == nullptr || read<std::uint16_t>(node + lmdb::marks_offset) != 0)
            return std::nullopt;
        auto const* const begin = node + lmdb::entry_head + key_size;
        auto const size = read<std::uint32_t>(node);
        if (size > static_cast<std::size_t>(bytes_ + size_ - begin)) return std::nullopt;
        return std::string_view(begin, size);
    }

    // The estimated index of the id, as if the page's ids were spread evenly. At the right edge of
    // the tree, where no branch entry bounds the ids, the page's own last id does.
    std::size_t interpolate(position const& target) const {
        auto const id = static_cast<std::uint64_t>(target.id), low = target.low;
        auto const high = target.high > low ? target.high : key(count_ - 1) + 1;
        if (id >= high) return count_ - 1;
        if (id < low || high - low > UINT32_MAX) return count_ / 2;
        return static_cast<std::size_t>((id - low) * count_ / (high - low));
    }

    // The last entry from `first` on whose key is not above the id; `first` - 1 if there is none.
    // Interpolation search, then galloping: probes the estimate, steps away from it by 1, 4, 16, …
    // until the entry is enclosed, and bisects what is left.
    std::size_t last_at_or_below(position const& target, std::size_t first) const {
        auto const id = static_cast<std::uint64_t>(target.id);
        std::size_t begin = first, end = count_;  // the next entry above the id is in [begin, end]
        if (begin >= end) return begin - 1;
        std::size_t index = std::max(first, interpolate(target)), step = 1;
        while (begin < end) {
            if (index < begin || index >= end) index = begin + (end - begin) / 2;
            auto const probe = key(index);
            if (probe == id) return index;
            if (probe < id) {
                begin = index + 1;
                index += step;
            } else {
                end = index;
                index -= std::min(step, index);
            }
            step *= 4;
        }
        return begin - 1;
    }

    // The offset, and then `size` bytes of the entry, that `last_at_or_below` will probe first.
    void prefetch_offset(position const& target) const {
        if (count_ != 0) base::prefetch(offset_at(interpolate(target)), sizeof(std::uint16_t));
    }
    void prefetch_entry(position const& target, std::size_t size) const {
        if (count_ == 0) return;
        if (auto const* const node = entry(interpolate(target), key_size))
            base::prefetch(node, size);
    }

  private:
    char const* offset_at(std::size_t index) const {
        return bytes_ + lmdb::page_head + index * sizeof(std::uint16_t);
    }
    // Null: the entry, with a key of `key_bytes`, does not lie within the page.
    char const* entry(std::size_t index, std::size_t key_bytes) const {
        auto const offset = read<std::uint16_t>(offset_at(index));
        bool const inside =
            offset >= lmdb::page_head && offset + lmdb::entry_head + key_bytes <= size_;
        return inside ? bytes_ + offset : nullptr;
    }

    char const* bytes_;
    std::size_t size_;
    std::size_t count_ = 0;
};

void id_tree::attach(MDB_txn* txn, MDB_dbi main, std::string_view table, std::string_view map) {
    map_ = nullptr;
    prefetched_ = {};
    if (map.empty() || read<std::uint32_t>(map.data() + lmdb::magic_offset) != lmdb::magic ||
        read<std::uint32_t>(map.data() + lmdb::version_offset) != lmdb::data_version)
        return;
    MDB_val key{table.size(), const_cast<char*>(table.data())}, value;
    if (::mdb_get(txn, main, &key, &value) != 0 || value.mv_size != lmdb::root_bytes) return;
    auto const* const tree = static_cast<char const*>(value.mv_data);
    depth_ = read<std::uint16_t>(tree + lmdb::depth_offset);
    root_ = read<std::uint64_t>(tree + lmdb::root_offset);
    MDB_stat stat;
    MDB_envinfo info;
    ::mdb_env_stat(::mdb_txn_env(txn), &stat);
    ::mdb_env_info(::mdb_txn_env(txn), &info);
    page_bytes_ = stat.ms_psize;
    pages_ = std::min<std::uint64_t>(info.me_last_pgno + 1, map.size() / page_bytes_);
    if (depth_ <= lmdb::depth_max) map_ = map.data();
}

id_tree::page id_tree::page_at(position const& position, std::uint16_t kind) const {
    return page(map_ + position.number * page_bytes_, page_bytes_, position.number, kind);
}

// From a branch page to the child that has the id; false: the page is not sound.
bool id_tree::descend(position& position) const {
    auto const branch = page_at(position, lmdb::branch_kind);
    if (branch.count() == 0) return false;
    auto const index = branch.last_at_or_below(position, 1);
    if (index != 0) position.low = branch.key(index);
    if (index + 1 < branch.count()) position.high = branch.key(index + 1);
    position.number = branch.child(index);
    return position.number < pages_;
}

id_tree::position id_tree::find_leaf(model::id id) const {
    position leaf{.id = id, .number = root_};
    if (root_ >= pages_) return {};
    for (auto level = depth_; level > 1; --level)
        if (!descend(leaf)) return {};
    return leaf;
}

// Two lines hold all offsets of a page, unless its records are very small.
void id_tree::prefetch_head(position const& position) const {
    base::prefetch(map_ + position.number * page_bytes_, 2 * base::cache_line_bytes);
}

void id_tree::prefetch_entry(position& leaf) const {
    leaf.record_prefetched = true;
    page_at(leaf, lmdb::leaf_kind).prefetch_entry(leaf, record_bytes_usual);
}

void id_tree::prefetch_page(model::id id) {
    auto& slot = prefetched_[slot_of(id)];
    if (map_ == nullptr || slot.id == id) return;
    slot = find_leaf(id);
    prefetch_head(slot);
}

void id_tree::prefetch_record(model::id id) {
    auto& slot = prefetched_[slot_of(id)];
    if (map_ != nullptr && slot.id == id && !slot.record_prefetched) prefetch_entry(slot);
}

void id_tree::prefetch(std::span<model::id const> ids) {
    if (map_ == nullptr || root_ >= pages_) return;
    for (; ids.size() > group_size; ids = ids.subspan(group_size))
        prefetch_group(ids.first(group_size));
    prefetch_group(ids);
}

void id_tree::prefetch_group(std::span<model::id const> ids) {
    auto const group = std::span(group_).first(ids.size());
    for (std::size_t i = 0; i < group.size(); ++i) group[i] = {.id = ids[i], .number = root_};
    for (auto level = depth_; level > 1; --level) {
        if (level != depth_) prefetch_branches(group);  // the root is in the cache anyway
        for (auto& each : group)
            if (!descend(each)) each = {};
        for (auto const& each : group) prefetch_head(each);
    }
    for (auto& each : group) {
        prefetch_entry(each);
        if (each.id != 0) prefetched_[slot_of(each.id)] = each;
    }
}

// Prefetches the bytes that `descend` is going to read, except for the heads of the pages.
void id_tree::prefetch_branches(std::span<position const> group) const {
    for (auto const& each : group) page_at(each, lmdb::branch_kind).prefetch_offset(each);
    for (auto const& each : group)
        page_at(each, lmdb::branch_kind).prefetch_entry(each, lmdb::entry_head + key_size);
}

std::optional<std::string_view> id_tree::find(model::id id) const {
    if (map_ == nullptr) return std::nullopt;
    auto const& slot = prefetched_[slot_of(id)];
    auto const position = slot.id == id ? slot : find_leaf(id);
    if (position.id != id) return std::nullopt;
    auto const leaf = page_at(position, lmdb::leaf_kind);
    auto const index = leaf.last_at_or_below(position, 0);
    if (index >= leaf.count() || leaf.key(index) != static_cast<std::uint64_t>(id))
        return std::nullopt;
    return leaf.value(index);
}

}  // namespace latchkey::store
