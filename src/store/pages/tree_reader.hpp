// Reads a table of an LMDB file page by page, without LMDB, which trusts its pages: a changed page
// is found and named, the pages below and beside it are still read, and no content makes the reader
// leave the file. Every page on the way is validated: its number and kind, that its entries fill
// it, and that their keys ascend within the range that the page above gives.
//
// Reads data version 1 (lmdb_format.hpp). A view of the file, whose pages a snapshot must keep
// alive; one thread. Private to the store.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/function_ref.hpp"

namespace latchkey::store {

// The entry of a table in the table of tables.
struct tree_root {
    std::uint64_t page = UINT64_MAX;  // UINT64_MAX: the table is empty
    unsigned depth = 0;
    std::uint64_t entries = 0;
};
// nullopt: not such an entry.
std::optional<tree_root> decode_tree_root(std::string_view bytes);

// Cache of pages that were found sound in one version of the file, each with the key range that its
// parent gives; those keys lie in mapped pages, so their addresses identify them. One thread.
class sound_pages {
  public:
    // Whether that is another version than the one of before.
    bool begin(std::uint64_t version) { return std::exchange(version_, version) != version; }
    bool has(std::uint64_t number, char const* low, char const* high) const {
        auto const& slot = slots_[number % slots_.size()];
        return slot.version == version_ && slot.number == number && slot.low == low &&
               slot.high == high;
    }
    void add(std::uint64_t number, char const* low, char const* high) {
        slots_[number % slots_.size()] = {version_, number, low, high};
    }

  private:
    struct slot {
        std::uint64_t version = UINT64_MAX, number = 0;
        char const* low = nullptr;
        char const* high = nullptr;
    };
    std::array<slot, 512> slots_;
    std::uint64_t version_ = UINT64_MAX;
};

class tree_reader {
  public:
    // `cache` (null: none) is looked up before a page is validated, and filled afterwards.
    tree_reader(std::string_view file, std::uint64_t page_bytes, sound_pages* cache = nullptr)
        : file_(file), page_bytes_(page_bytes), cache_(cache) {}

    // In ascending order. No value: its overflow pages are damaged.
    using entry_sink =
        base::function_ref<void(std::string_view key, std::optional<std::string_view> value)>;
    // An invalid page; entries from the key `first_missing` on are missing.
    using fault_sink = base::function_ref<void(std::uint64_t page, std::string_view first_missing)>;
    // Returns the number of entries read.
    std::uint64_t read(tree_root const& root, entry_sink entry, fault_sink fault) const;

    // Is the key surely absent? Only if every page on the path is sound and the entries beside the
    // gap are whole (`is_whole`); false also means "unknown".
    using entry_judge = base::function_ref<bool(std::string_view key, std::string_view value)>;
    bool lacks(tree_root const& root, std::string_view key, entry_judge is_whole) const;
    // The leaf page where the key is or would be. nullopt: a page on the path is not sound.
    std::optional<std::uint64_t> leaf_of(tree_root const& root, std::string_view key) const;

  private:
    struct key_range {
        std::string_view low, high;
        bool has_high = false;
    };
    class page;

    // Without entries if the page is not sound.
    page sound_page(std::uint64_t number, unsigned depth, key_range const& keys) const;
    struct place {
        std::uint64_t number = 0;
        std::size_t upper = 0;  // index of the first entry with a greater key
        key_range keys;
    };
    // `strictly_below`: the path to the last entry below the key.
    std::optional<place> find(tree_root const& root, std::string_view key, page& leaf,
                              bool strictly_below = false) const;
    static key_range below(page const& branch, std::size_t index, key_range const& keys);
    std::uint64_t read_page(std::uint64_t number, unsigned depth, key_range const& keys,
                            entry_sink entry, fault_sink fault) const;
    std::optional<std::string_view> value(page const& leaf, std::size_t index) const;
    std::optional<std::string_view> overflow(std::uint64_t number, std::size_t size) const;

    std::string_view file_;
    std::uint64_t page_bytes_;
    sound_pages* cache_;
};

}  // namespace latchkey::store
