// A recursive walk takes the range of keys down: a page counts only if its entries fill it and its
// keys ascend within that range, so that no entry is followed which a changed byte could have
// misplaced. A key is absent if its neighbours, at the edge of a page those of the adjacent one,
// are whole. Pages found sound are remembered for their version.
#include "store/pages/tree_reader.hpp"

#include "store/pages/lmdb_format.hpp"

namespace latchkey::store {

std::optional<tree_root> decode_tree_root(std::string_view bytes) {
    if (bytes.size() != lmdb::root_bytes) return std::nullopt;
    tree_root root;
    root.depth = lmdb::read<std::uint16_t>(bytes.data() + lmdb::depth_offset);
    root.entries = lmdb::read<std::uint64_t>(bytes.data() + lmdb::entries_offset);
    root.page = lmdb::read<std::uint64_t>(bytes.data() + lmdb::root_offset);
    if (root.depth > lmdb::depth_max) return std::nullopt;
    return root;
}

// Its contents are used only after `is_sound`: entries lie within the page and fill it.
class tree_reader::page {
  public:
    page() = default;
    page(char const* bytes, std::size_t size, bool leaf)
        : bytes_(bytes), size_(size), is_leaf_(leaf) {
        auto const lower = lmdb::read<std::uint16_t>(bytes + lmdb::lower_offset);
        if (lower > lmdb::page_head && lower <= size)
            count_ = (lower - lmdb::page_head) / sizeof(std::uint16_t);
    }

    bool is_sound(std::uint64_t number) const {
        auto const upper = lmdb::read<std::uint16_t>(bytes_ + lmdb::upper_offset);
        if (count_ == 0 || lmdb::read<std::uint64_t>(bytes_) != number ||
            lmdb::read<std::uint16_t>(bytes_ + lmdb::kind_offset) !=
                (is_leaf_ ? lmdb::leaf_kind : lmdb::branch_kind) ||
            lmdb::read<std::uint16_t>(bytes_ + lmdb::lower_offset) > upper || upper > size_)
            return false;
        std::size_t entries_bytes = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            auto const offset = offset_of(i);
            if (offset < upper || offset + lmdb::entry_head > size_) return false;
            auto const entry_bytes = size_of(i);
            if (offset + entry_bytes > size_) return false;
            entries_bytes += (entry_bytes + 1) & ~std::size_t{1};
        }
        return entries_bytes == size_ - upper;
    }

    std::size_t count() const { return count_; }
    std::string_view key(std::size_t index) const {
        return {entry(index) + lmdb::entry_head, key_size(index)};
    }
    std::uint64_t child(std::size_t index) const {
        return lmdb::read<std::uint32_t>(entry(index)) |
               std::uint64_t{lmdb::read<std::uint16_t>(entry(index) + lmdb::marks_offset)} << 32;
    }
    bool is_outside(std::size_t index) const {
        return (lmdb::read<std::uint16_t>(entry(index) + lmdb::marks_offset) &
                lmdb::on_overflow_pages) != 0;
    }
    std::size_t value_size(std::size_t index) const {
        return lmdb::read<std::uint32_t>(entry(index));
    }
    char const* value(std::size_t index) const {
        return entry(index) + lmdb::entry_head + key_size(index);
    }

  private:
    std::size_t offset_of(std::size_t index) const {
        return lmdb::read<std::uint16_t>(bytes_ + lmdb::page_head + index * sizeof(std::uint16_t));
    }
    char const* entry(std::size_t index) const { return bytes_ + offset_of(index); }
    std::size_t key_size(std::size_t index) const {
        return lmdb::read<std::uint16_t>(entry(index) + lmdb::key_size_offset);
    }
    std::size_t size_of(std::size_t index) const {
        auto const head = lmdb::entry_head + key_size(index);
        if (!is_leaf_) return head;
        return head + (is_outside(index) ? sizeof(std::uint64_t) : value_size(index));
    }

    char const* bytes_ = nullptr;
    std::size_t size_ = 0;
    bool is_leaf_ = false;
    std::size_t count_ = 0;
};

std::uint64_t tree_reader::read(tree_root const& root, entry_sink entry, fault_sink fault) const {
    if (root.page == UINT64_MAX) return 0;
    return read_page(root.page, root.depth, {}, entry, fault);
}

tree_reader::page tree_reader::sound_page(std::uint64_t number, unsigned depth,
                                          key_range const& keys) const {
    if (depth == 0 || number >= file_.size() / page_bytes_) return {};
    bool const leaf = depth == 1;
    page here(file_.data() + number * page_bytes_, page_bytes_, leaf);
    auto const* const high = keys.has_high ? keys.high.data() : nullptr;
    if (cache_ != nullptr && cache_->has(number, keys.low.data(), high)) return here;
    if (!here.is_sound(number)) return {};
    // The first key of a branch page is empty and stands for all keys below the second.
    std::size_t const first = leaf ? 0 : 1;
    for (std::size_t i = first; i < here.count(); ++i) {
        auto const key = here.key(i);
        bool const ascends = i == first ? key >= keys.low : key > here.key(i - 1);
        if (!ascends || (keys.has_high && key >= keys.high)) return {};
    }
    if (cache_ != nullptr) cache_->add(number, keys.low.data(), high);
    return here;
}

tree_reader::key_range tree_reader::below(page const& branch, std::size_t index,
                                          key_range const& keys) {
    auto part = keys;
    if (index != 0) part.low = branch.key(index);
    if (index + 1 < branch.count()) {
        part.high = branch.key(index + 1);
        part.has_high = true;
    }
    return part;
}

std::uint64_t tree_reader::read_page(std::uint64_t number, unsigned depth, key_range const& keys,
                                     entry_sink entry, fault_sink fault) const {
    auto const here = sound_page(number, depth, keys);
    if (here.count() == 0) {
        fault(number, keys.low);
        return 0;
    }
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < here.count(); ++i) {
        if (depth != 1) {
            count += read_page(here.child(i), depth - 1, below(here, i, keys), entry, fault);
            continue;
        }
        ++count;
        entry(here.key(i), value(here, i));
    }
    return count;
}

std::optional<tree_reader::place> tree_reader::find(tree_root const& root, std::string_view key,
                                                    page& leaf, bool strictly_below) const {
    place position{.number = root.page};
    for (auto depth = root.depth;; --depth) {
        auto const here = sound_page(position.number, depth, position.keys);
        if (here.count() == 0) return std::nullopt;
        position.upper = depth == 1 ? 0 : 1;
        for (auto end = here.count(); position.upper < end;) {
            auto const middle = position.upper + (end - position.upper) / 2;
            auto const middle_key = here.key(middle);
            bool const is_above = strictly_below ? middle_key >= key : middle_key > key;
            is_above ? void(end = middle) : void(position.upper = middle + 1);
        }
        if (depth == 1) {
            leaf = here;
            return position;
        }
        position.number = here.child(position.upper - 1);
        position.keys = below(here, position.upper - 1, position.keys);
    }
}

// If the gap is at the edge of a page, a changed key of the page above may have led there; then the
// adjacent page has keys outside its range and is not sound.
bool tree_reader::lacks(tree_root const& root, std::string_view key, entry_judge is_whole) const {
    if (root.page == UINT64_MAX) return true;
    page leaf, beside;
    auto const position = find(root, key, leaf);
    if (!position) return false;
    auto const fits = [&](std::size_t index) {
        auto const bytes = value(leaf, index);
        return leaf.key(index) != key && bytes && is_whole(leaf.key(index), *bytes);
    };
    auto const upper = position->upper;
    auto const& keys = position->keys;
    bool const below_is_right =
        upper != 0 ? fits(upper - 1) : keys.low.empty() || find(root, keys.low, beside, true);
    return below_is_right &&
           (upper != leaf.count() ? fits(upper) : !keys.has_high || find(root, keys.high, beside));
}

std::optional<std::uint64_t> tree_reader::leaf_of(tree_root const& root,
                                                  std::string_view key) const {
    if (root.page == UINT64_MAX) return UINT64_MAX;
    page leaf;
    auto const position = find(root, key, leaf);
    if (!position) return std::nullopt;
    return position->number;
}

std::optional<std::string_view> tree_reader::value(page const& leaf, std::size_t index) const {
    auto const size = leaf.value_size(index);
    if (!leaf.is_outside(index)) return std::string_view(leaf.value(index), size);
    return overflow(lmdb::read<std::uint64_t>(leaf.value(index)), size);
}

std::optional<std::string_view> tree_reader::overflow(std::uint64_t number,
                                                      std::size_t size) const {
    auto const pages = (lmdb::page_head + size + page_bytes_ - 1) / page_bytes_;
    auto const position = file_.size() / page_bytes_;
    if (number >= position || pages > position - number) return std::nullopt;
    auto const* const bytes = file_.data() + number * page_bytes_;
    if (lmdb::read<std::uint64_t>(bytes) != number ||
        lmdb::read<std::uint16_t>(bytes + lmdb::kind_offset) != lmdb::overflow_kind ||
        // More pages than the value needs are fine: a shorter value may have replaced a longer one.
        lmdb::read<std::uint32_t>(bytes + lmdb::lower_offset) < pages)
        return std::nullopt;
    return std::string_view(bytes + lmdb::page_head, size);
}

}  // namespace latchkey::store
