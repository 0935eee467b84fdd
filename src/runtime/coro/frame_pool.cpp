#include "runtime/coro/frame_pool.hpp"

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

thread_local frame_pool* thread_pool = nullptr;
thread_local std::ptrdiff_t live_frames = 0;

void* allocate_from_heap(std::size_t size) {
    void* const bytes = ::operator new(size, std::nothrow);
    base::check(bytes != nullptr, "no memory for a coroutine frame");
    return bytes;
}

}  // namespace

// Header in front of each frame; has the alignment of operator new, and so the frame has it too.
struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) frame_pool::block {
    frame_pool* owner;  // null: the heap
    block* next;        // in a free list

    void* payload() { return this + 1; }
    static block* header(void* payload) { return static_cast<block*>(payload) - 1; }
};

void* pooled_frame::operator new(std::size_t size) {
    ++live_frames;
    auto const size_class = (size + frame_pool::class_bytes - 1) / frame_pool::class_bytes;
    if (thread_pool != nullptr && size <= frame_pool::pooled_bytes_max)
        return thread_pool->allocate(size_class);
    void* const memory = allocate_from_heap(sizeof(frame_pool::block) + size);
    return (new (memory) frame_pool::block{})->payload();
}

void pooled_frame::operator delete(void* frame, std::size_t size) noexcept {
    --live_frames;
    auto* const freed = frame_pool::block::header(frame);
    if (freed->owner == nullptr) return ::operator delete(freed);
    base::check(freed->owner == thread_pool, "a coroutine frame freed away from its pool");
    freed->owner->release(freed, (size + frame_pool::class_bytes - 1) / frame_pool::class_bytes);
}

std::ptrdiff_t frames_alive() {
    return live_frames;
}

void* frame_pool::allocate(std::size_t size_class) {
    ++frames_;
    auto const bytes = size_class * class_bytes;
    if (auto* const reused = free_[size_class]; reused != nullptr) {
        free_[size_class] = reused->next;
        free_bytes_ -= bytes;
        ASAN_UNPOISON_MEMORY_REGION(reused->payload(), bytes);
        return reused->payload();
    }
    void* const memory = allocate_from_heap(sizeof(block) + bytes);
    return (new (memory) block{this, nullptr})->payload();
}

void frame_pool::release(block* freed, std::size_t size_class) {
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
        while (auto* const head = free_[size_class]) {
            free_[size_class] = head->next;
            ASAN_UNPOISON_MEMORY_REGION(head->payload(), size_class * class_bytes);
            ::operator delete(head);
        }
    }
}

frame_pool::installation::installation(frame_pool& pool) : outer_(thread_pool) {
    thread_pool = &pool;
}

frame_pool::installation::~installation() {
    thread_pool = outer_;
}

}  // namespace latchkey::coro
