#include "store/pages/mapped_pages.hpp"

#include "store/pages/lmdb_format.hpp"

namespace latchkey::store {

bool mapped_pages::is_within_page(std::string_view value) const {
    if (!is_inside(value.data())) return true;
    auto const offset = static_cast<std::uint64_t>(value.data() - map_.data());
    auto const page_offset = offset % page_bytes_;
    if (page_offset + value.size() <= page_bytes_) return true;
    auto const* const page = value.data() - page_offset;
    if (page_offset != lmdb::page_head ||
        lmdb::read<std::uint16_t>(page + lmdb::kind_offset) != lmdb::overflow_kind)
        return false;
    auto const pages = std::uint64_t{lmdb::read<std::uint32_t>(page + lmdb::overflow_count_offset)};
    return lmdb::page_head + value.size() <= pages * page_bytes_;
}

std::uint64_t mapped_pages::page_number(char const* key) const {
    if (!is_inside(key)) return UINT64_MAX;
    return static_cast<std::uint64_t>(key - map_.data()) / page_bytes_;
}

}  // namespace latchkey::store
