#include "coro/frame_pool.hpp"

#include <new>

#include "base/check.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace latchkey::coro {

namespace {

thread_local frame_pool* installed = nullptr;
thread_local std::ptrdiff_t alive = 0;

void* from_heap(std::size_t size) {
    void* const bytes = ::operator new(size, std::nothrow);
    base::check(bytes != nullptr, "no memory for a coroutine frame");
    return bytes;
}

}  // namespace

// Stands in front of each frame and keeps its alignment, that of operator new.
struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) frame_pool::block {
    frame_pool* owner;  // null: the heap
    block* next;        // in a free list

    void* payload() { return this + 1; }
    static block* of(void* payload) { return static_cast<block*>(payload) - 1; }
};

void* pooled_frame::operator new(std::size_t size) {
    ++alive;
    auto const size_class = (size + frame_pool::class_bytes - 1) / frame_pool::class_bytes;
    if (installed != nullptr && size <= frame_pool::pooled_bytes_max)
        return installed->take(size_class);
    auto* const made = new (from_heap(sizeof(frame_pool::block) + size)) frame_pool::block{};
    return made->payload();
}

void pooled_frame::operator delete(void* frame, std::size_t size) noexcept {
    --alive;
    auto* const freed = frame_pool::block::of(frame);
    if (freed->owner == nullptr) return ::operator delete(freed);
    base::check(freed->owner == installed, "a coroutine frame freed away from its pool");
    freed->owner->give_back(freed, (size + frame_pool::class_bytes - 1) / frame_pool::class_bytes);
}

std::ptrdiff_t frames_alive() {
    return alive;
}

void* frame_pool::take(std::size_t size_class) {
    ++frames_;
    auto const bytes = size_class * class_bytes;
    if (auto* const kept = free_[size_class]; kept != nullptr) {
        free_[size_class] = kept->next;
        free_bytes_ -= bytes;
        ASAN_UNPOISON_MEMORY_REGION(kept->payload(), bytes);
        return kept->payload();
    }
    auto* const made = new (from_heap(sizeof(block) + bytes)) block{this, nullptr};
    return made->payload();
}

void frame_pool::give_back(block* freed, std::size_t size_class) {
    --frames_;
    auto const bytes = size_class * class_bytes;
    if (free_bytes_ + bytes > bytes_max_) return ::operator delete(freed);
    freed->next = free_[size_class];
    free_[size_class] = freed;
    free_bytes_ += bytes;
    ASAN_POISON_MEMORY_REGION(freed->payload(), bytes);
}

frame_pool::~frame_pool() {
    base::check(frames_ == 0, "a frame pool destroyed before its frames");
    for (std::size_t size_class = 0; size_class < free_.size(); ++size_class) {
        while (auto* const kept = free_[size_class]) {
            free_[size_class] = kept->next;
            ASAN_UNPOISON_MEMORY_REGION(kept->payload(), size_class * class_bytes);
            ::operator delete(kept);
        }
    }
}

frame_pool::installation::installation(frame_pool& pool) : outer_(installed) {
    installed = &pool;
}

frame_pool::installation::~installation() {
    installed = outer_;
}

}  // namespace latchkey::coro
