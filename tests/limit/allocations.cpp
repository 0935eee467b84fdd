#include "allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#if __has_feature(thread_sanitizer)

// The runtime of TSan has its own operator new, which cannot be replaced at link time.
bool latchkey::test::counts_allocations() {
    return false;
}
std::size_t latchkey::test::allocations() {
    return 0;
}
std::size_t latchkey::test::allocations_everywhere() {
    return 0;
}

#else

namespace {

thread_local std::size_t count = 0;
std::atomic<std::size_t> total{0};

void* allocate_or_null(std::size_t bytes, std::size_t alignment) noexcept {
    ++count;
    total.fetch_add(1, std::memory_order_relaxed);
    std::size_t const rounded = (bytes + alignment - 1) / alignment * alignment;
    return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const memory = allocate_or_null(bytes, alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

bool latchkey::test::counts_allocations() {
    return true;
}
std::size_t latchkey::test::allocations() {
    return count;
}
std::size_t latchkey::test::allocations_everywhere() {
    return total.load(std::memory_order_relaxed);
}

void* operator new(std::size_t bytes) {
    return allocate(bytes, alignof(std::max_align_t));
}
// The default one would not match the `delete` below.
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
    return allocate_or_null(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

#endif
