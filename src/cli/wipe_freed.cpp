// Replaces operator delete so that freed memory is wiped: keys pass through growing strings and
// temporary documents, and no code path can forget to wipe them (api.md §4). A request that only
// reads frees nothing; a write pays some ten nanoseconds. Memory that C libraries free is not
// covered, nor are builds with ThreadSanitizer, whose operators cannot be replaced.
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "base/bytes.hpp"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LATCHKEY_OPERATORS_TAKEN 1
#endif
#endif

#ifndef LATCHKEY_OPERATORS_TAKEN

namespace latchkey::cli {
namespace {

void release(void* memory) noexcept {
    if (memory == nullptr) return;
    latchkey::base::wipe(memory, ::malloc_usable_size(memory));
    std::free(memory);
}

}  // namespace
}  // namespace latchkey::cli

// The other forms call these (C++20 [new.delete]). operator new uses malloc explicitly, to match
// the free above under AddressSanitizer too.
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
    return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(std::size_t bytes) {
    void* const memory = operator new(bytes, std::nothrow);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void operator delete(void* memory) noexcept {
    latchkey::cli::release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    latchkey::cli::release(memory);
}

#endif
