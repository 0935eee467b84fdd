#include "work_counter.hpp"

#include <cstddef>

#include "tests/limit/allocations.hpp"

namespace {

bool counting = false;
std::uint64_t work = 0;
std::size_t allocations_before = 0;

void add(std::uint64_t units) {
    if (counting) work += units;
}

}  // namespace

void latchkey::test::begin_work() {
    work = 0;
    allocations_before = allocations();
    counting = true;
}

std::uint64_t latchkey::test::end_work() {
    counting = false;
    return work + 32 * (allocations() - allocations_before);
}

// Called by the compiler's instrumentation and by the linker's --wrap, hence the names.
extern "C" {

void __sanitizer_cov_trace_cmp1(std::uint8_t, std::uint8_t) {
    add(1);
}
void __sanitizer_cov_trace_cmp2(std::uint16_t, std::uint16_t) {
    add(1);
}
void __sanitizer_cov_trace_cmp4(std::uint32_t, std::uint32_t) {
    add(1);
}
void __sanitizer_cov_trace_cmp8(std::uint64_t, std::uint64_t) {
    add(1);
}
void __sanitizer_cov_trace_const_cmp1(std::uint8_t, std::uint8_t) {
    add(1);
}
void __sanitizer_cov_trace_const_cmp2(std::uint16_t, std::uint16_t) {
    add(1);
}
void __sanitizer_cov_trace_const_cmp4(std::uint32_t, std::uint32_t) {
    add(1);
}
void __sanitizer_cov_trace_const_cmp8(std::uint64_t, std::uint64_t) {
    add(1);
}
void __sanitizer_cov_trace_switch(std::uint64_t, std::uint64_t*) {
    add(1);
}
void __sanitizer_weak_hook_memcmp(void*, void const*, void const*, std::size_t size, int) {
    add(1 + size / 8);
}

void* __real___asan_memcpy(void*, void const*, std::size_t);
void* __real___asan_memmove(void*, void const*, std::size_t);
void* __real___asan_memset(void*, int, std::size_t);
void __real_explicit_bzero(void*, std::size_t);

void* __wrap___asan_memcpy(void* target, void const* source, std::size_t size) {
    add(size / 32);
    return __real___asan_memcpy(target, source, size);
}
void* __wrap___asan_memmove(void* target, void const* source, std::size_t size) {
    add(size / 32);
    return __real___asan_memmove(target, source, size);
}
void* __wrap___asan_memset(void* target, int byte, std::size_t size) {
    add(size / 32);
    return __real___asan_memset(target, byte, size);
}
void __wrap_explicit_bzero(void* target, std::size_t size) {
    add(size / 32);
    __real_explicit_bzero(target, size);
}

}  // extern "C"
