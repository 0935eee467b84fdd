#include "world.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace latchkey::fake {
namespace {

std::atomic<world*> the_one{nullptr};
constexpr base::mono_ns beginning = 1000 * second;
constexpr base::wall_ms beginning_wall = 1'900'000'000'000;  // in 2030

}  // namespace

std::string_view name_of(fault which) {
    static constexpr std::string_view names[fault_count] = {
        "short_send",     "short_receive",   "no_buffers",   "no_memory",   "no_descriptor",
        "cancelled",      "reset",           "unseen_reset", "interrupted", "late",
        "reordered",      "ended_multishot", "spare_buffer", "overflow",    "refused_enter",
        "part_submitted", "full_queue",      "late_commit"};
    return names[static_cast<std::size_t>(which)];
}

world::world(std::uint64_t seed) : seed_(seed), random_(seed), now_(beginning) {
    // Each world has its own weather: of some faults many, of others few or none.
    static constexpr unsigned rates[] = {0, 10, 50, 120, 300};
    for (auto& each : rates_) each = rates[below(std::size(rates))];
    // These end a connection, and many of them would leave nothing else to happen.
    for (auto const which : {fault::no_memory, fault::reset})
        rates_[static_cast<std::size_t>(which)] /= 10;
    the_one.store(this);
}

world::~world() {
    the_one.store(nullptr);
}

world* world::current() {
    return the_one.load(std::memory_order_relaxed);
}

base::wall_ms world::wall() const {
    return beginning_wall + (now() - beginning) / ms;
}

void world::after(base::mono_ns delay, std::function<void()> what) {
    due_.emplace(std::pair(now() + delay, ++asked_), std::move(what));
}

bool world::step(base::mono_ns until) {
    if (due_.empty() || due_.begin()->first.first > until) return false;
    auto next = due_.extract(due_.begin());
    move_to(next.key().first);
    next.mapped()();
    return true;
}

void world::pass(base::mono_ns duration) {
    auto const until = now() + duration;
    while (step(until)) {
    }
    move_to(until);
}

void world::move_to(base::mono_ns when) {
    if (when > now()) now_.store(when, std::memory_order_relaxed);
}

std::uint64_t world::below(std::uint64_t bound) {
    return bound < 2 ? 0 : random_() % bound;
}

bool world::strikes(fault which) {
    auto const rate = rates_[static_cast<std::size_t>(which)];
    if (rate == 0 || below(1000) >= rate) return false;
    count(which);
    return true;
}

void world::trace(std::string_view bytes) {
    for (char const byte : bytes)
        trace_ = (trace_ ^ static_cast<unsigned char>(byte)) * 1'099'511'628'211u;
}

void world::trace(std::uint64_t number) {
    trace({reinterpret_cast<char const*>(&number), sizeof number});
}

void world::fail(std::string_view what) const {
    std::fprintf(stderr, "seed %llu, %.6f s after its beginning: %.*s\n",
                 static_cast<unsigned long long>(seed_),
                 static_cast<double>(now() - beginning) / 1e9, static_cast<int>(what.size()),
                 what.data());
    std::abort();
}

}  // namespace latchkey::fake
