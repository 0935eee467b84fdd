// Prefetch hints: starts loading memory that is about to be read, so that cache misses overlap with
// other work (a miss costs as much as some hundred instructions). Dereferences nothing, so any
// address is allowed. Any thread.
#pragma once

#include <cstddef>

namespace latchkey::base {

inline constexpr std::size_t cache_line_bytes = 64;

inline void prefetch(void const* begin, std::size_t size) {
    auto const* const bytes = static_cast<char const*>(begin);
    for (std::size_t i = 0; i < size; i += cache_line_bytes) __builtin_prefetch(bytes + i);
    // The last line, when `begin` is not aligned to a line.
    if (size != 0) __builtin_prefetch(bytes + size - 1);
}

}  // namespace latchkey::base
