// Bounds checks for values that LMDB returns from its map: LMDB trusts its pages, so of a damaged
// one it returns values that reach beyond their page.
//
// A view of the map. Values outside it (pages that a write transaction has in memory, or all if the
// map is not known) are accepted. Any thread; private to the store.
#pragma once

#include <cstdint>
#include <string_view>

namespace latchkey::store {

class mapped_pages {
  public:
    mapped_pages() = default;
    mapped_pages(std::string_view map, std::uint64_t page_bytes)
        : map_(map), page_bytes_(page_bytes) {}

    // Does the value end within its page, or within its overflow pages?
    bool is_within_page(std::string_view value) const;
    // Number of the page that has the key; UINT64_MAX: not in the map.
    std::uint64_t page_number(char const* key) const;

  private:
    bool is_inside(char const* position) const {
        return position >= map_.data() && position < map_.data() + map_.size();
    }

    std::string_view map_;
    std::uint64_t page_bytes_ = 4096;
};

}  // namespace latchkey::store
