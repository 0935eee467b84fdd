#include "runtime/uring/buffers.hpp"

#include <sys/mman.h>

#include "base/check.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define LATCHKEY_POISON(address, size) ASAN_POISON_MEMORY_REGION(address, size)
#define LATCHKEY_UNPOISON(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#endif
#endif
#ifndef LATCHKEY_POISON
#define LATCHKEY_POISON(address, size) (void)0
#define LATCHKEY_UNPOISON(address, size) (void)0
#endif

namespace latchkey::uring {
namespace {

void* map(std::size_t bytes) {
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

// Aligned for transparent huge pages: receiving cycles through all buffers, more pages than the
// TLB holds.
void* map_huge(std::size_t bytes) {
    constexpr std::size_t huge_page = 2 << 20;
    if (bytes % huge_page != 0) return map(bytes);
    auto* const memory = static_cast<char*>(map(bytes + huge_page));
    if (memory == nullptr) return nullptr;
    auto const padding = -reinterpret_cast<std::uintptr_t>(memory) % huge_page;
    if (padding != 0) munmap(memory, padding);
    munmap(memory + padding + bytes, huge_page - padding);
    madvise(memory + padding, bytes, MADV_HUGEPAGE);
    return memory + padding;
}

std::uint32_t index_of(completion const& cqe) {
    return cqe.flags >> IORING_CQE_BUFFER_SHIFT;
}

}  // namespace

base::result<std::unique_ptr<buffers>> buffers::make(ring& owner, std::uint32_t count,
                                                     std::uint32_t bytes_each) {
    std::unique_ptr<buffers> pool(new buffers(owner));
    pool->count_ = count;
    pool->bytes_each_ = bytes_each;
    pool->entries_ = static_cast<io_uring_buf_ring*>(map(count * sizeof(io_uring_buf)));
    pool->memory_ = static_cast<char*>(map_huge(std::size_t{count} * bytes_each));
    if (pool->entries_ == nullptr || pool->memory_ == nullptr)
        return base::error{"no memory for the receive buffers"};
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uintptr_t>(pool->entries_);
    registration.ring_entries = count;
    registration.bgid = group;
    if (int const code = io_uring_register_buf_ring(&owner.native(), &registration, 0); code < 0)
        return refusal(code);
    io_uring_buf_ring_init(pool->entries_);
    for (std::uint32_t i = 0; i < count; ++i) pool->provide(i);
    pool->publish();
    pool->available_ = count;
    return pool;
}

buffers::~buffers() {
    if (memory_ != nullptr) {
        LATCHKEY_UNPOISON(memory_, std::size_t{count_} * bytes_each_);
        munmap(memory_, std::size_t{count_} * bytes_each_);
    }
    if (entries_ == nullptr) return;
    io_uring_unregister_buf_ring(&ring_.native(), group);
    munmap(entries_, count_ * sizeof(io_uring_buf));
}

std::span<char> buffers::view(completion const& cqe) {
    auto const index = index_of(cqe);
    base::check(index < count_ && available_ > 0, "a receive buffer that the kernel did not have");
    --available_;
    auto const size = cqe.result > 0 ? static_cast<std::size_t>(cqe.result) : 0;
    LATCHKEY_UNPOISON(buffer(index), bytes_each_);
    return {buffer(index), size};
}

std::string_view buffers::peek(completion const& next) const {
    auto const index = index_of(next);
    base::check(index < count_ && next.result > 0, "a peek into no receive buffer");
    LATCHKEY_UNPOISON(buffer(index), bytes_each_);
    return {buffer(index), static_cast<std::size_t>(next.result)};
}

void buffers::release(completion const& cqe) {
    provide(index_of(cqe));
}

void buffers::provide(std::uint32_t index) {
    LATCHKEY_POISON(buffer(index), bytes_each_);
    io_uring_buf_ring_add(entries_, buffer(index), bytes_each_, static_cast<unsigned short>(index),
                          io_uring_buf_ring_mask(count_), returned_);
    ++returned_;
}

void buffers::publish() {
    if (returned_ == 0) return;
    io_uring_buf_ring_advance(entries_, returned_);
    available_ += static_cast<std::uint32_t>(returned_);
    returned_ = 0;
}

}  // namespace latchkey::uring
