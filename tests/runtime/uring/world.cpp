#include "world.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace latchkey::fake {
namespace {

std::atomic<world*> current_world{nullptr};
constexpr base::mono_ns start_time = 1000 * second;
constexpr base::wall_ms start_wall = 1'900'000'000'000;  // in 2030

}  // namespace

std::string_view name_of(fault kind) {
    static constexpr std::string_view names[fault_count] = {
        "short_send",     "short_receive",   "no_buffers",   "no_memory",   "no_descriptor",
        "cancelled",      "reset",           "unseen_reset", "interrupted", "late",
        "reordered",      "ended_multishot", "spare_buffer", "overflow",    "refused_enter",
        "part_submitted", "full_queue",      "late_commit"};
    return names[static_cast<std::size_t>(kind)];
}

world::world(std::uint64_t seed) : seed_(seed), random_(seed), now_(start_time) {
    // Each world has its own rate for each kind of fault (swarm testing).
    static constexpr unsigned rates[] = {0, 10, 50, 120, 300};
    for (auto& each : rates_) each = rates[below(std::size(rates))];
    // Rare, because these end a connection and with it the events after it.
    for (auto const kind : {fault::no_memory, fault::reset})
        rates_[static_cast<std::size_t>(kind)] /= 10;
    current_world.store(this);
}

world::~world() {
    current_world.store(nullptr);
}

world* world::current() {
    return current_world.load(std::memory_order_relaxed);
}

base::wall_ms world::wall() const {
    return start_wall + (now() - start_time) / ms;
}

void world::after(base::mono_ns delay, std::function<void()> callback) {
    events_.emplace(std::pair(now() + delay, ++sequence_), std::move(callback));
}

bool world::step(base::mono_ns deadline) {
    if (events_.empty() || events_.begin()->first.first > deadline) return false;
    auto next = events_.extract(events_.begin());
    move_to(next.key().first);
    next.mapped()();
    return true;
}

void world::pass(base::mono_ns duration) {
    auto const deadline = now() + duration;
    while (step(deadline)) {
    }
    move_to(deadline);
}

void world::move_to(base::mono_ns time) {
    if (time > now()) now_.store(time, std::memory_order_relaxed);
}

std::uint64_t world::below(std::uint64_t bound) {
    return bound < 2 ? 0 : random_() % bound;
}

bool world::strikes(fault kind) {
    auto const rate = rates_[static_cast<std::size_t>(kind)];
    if (rate == 0 || below(1000) >= rate) return false;
    count(kind);
    return true;
}

void world::trace(std::string_view bytes) {
    for (char const byte : bytes)
        trace_ = (trace_ ^ static_cast<unsigned char>(byte)) * 1'099'511'628'211u;
}

void world::trace(std::uint64_t number) {
    trace({reinterpret_cast<char const*>(&number), sizeof number});
}

void world::fail(std::string_view message) const {
    std::fprintf(stderr, "seed %llu, %.6f s after its start: %.*s\n",
                 static_cast<unsigned long long>(seed_),
                 static_cast<double>(now() - start_time) / 1e9, static_cast<int>(message.size()),
                 message.data());
    std::abort();
}

}  // namespace latchkey::fake
