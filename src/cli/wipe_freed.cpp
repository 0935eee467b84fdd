// What the program frees it wipes: keys pass through strings that grow and documents that are
// thrown away, and whoever forgot one of them would leave it in memory (API §4). A request that
// only reads frees nothing; a write pays some ten nanoseconds. Memory that C libraries free is not
// met here.
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "base/bytes.hpp"

namespace latchkey::cli {
namespace {

void release(void* memory) noexcept {
    if (memory == nullptr) return;
    latchkey::base::wipe(memory, ::malloc_usable_size(memory));
    std::free(memory);
}

}  // namespace
}  // namespace latchkey::cli

// The forms that are not here come down to these (C++20 [new.delete]). That they take from malloc
// what they give to free is said for AddressSanitizer, whose own would not.
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
