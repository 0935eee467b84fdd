// Asks the processor for memory that is about to be read, so that it comes while other work is
// done: a read of a line that is in no cache costs as much as some hundred instructions. Reads
// nothing itself, so any address will do. Any thread.
#pragma once

#include <cstddef>

namespace latchkey::base {

inline constexpr std::size_t cache_line_bytes = 64;

inline void prefetch(void const* begin, std::size_t size) {
    auto const* const at = static_cast<char const*>(begin);
    for (std::size_t i = 0; i < size; i += cache_line_bytes) __builtin_prefetch(at + i);
    // The last one, where `begin` is in the middle of a line.
    if (size != 0) __builtin_prefetch(at + size - 1);
}

}  // namespace latchkey::base
