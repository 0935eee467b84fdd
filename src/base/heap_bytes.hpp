// How much heap memory a string occupies, for budgets of memory. Any thread.
#pragma once

#include <cstddef>
#include <string>

namespace latchkey::base {

// Its capacity; 0 while its text lies in the string itself.
inline std::size_t heap_bytes(std::string const& text) {
    static std::size_t const inline_bytes = std::string().capacity();
    return text.capacity() > inline_bytes ? text.capacity() : 0;
}

}  // namespace latchkey::base
