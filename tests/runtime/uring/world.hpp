// Deterministic simulation for one run of a test: a clock that only the test moves, a queue of
// events, random numbers from a seed, and fault injection. One thread, except for the clock, which
// any thread may read. The same seed gives the same run, to the byte; `trace` is a hash to verify
// it.
//
//     world all(seed);
//     all.after(5 * ms, [&] { … });
//     all.pass(10 * ms);                        // the event runs
//     if (all.strikes(fault::short_send)) …     // counted
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string_view>

#include "base/clock.hpp"

namespace latchkey::fake {

enum class fault : unsigned char {
    short_send,
    short_receive,
    no_buffers,       // ENOBUFS
    no_memory,        // ENOMEM, ENOBUFS of an operation
    no_descriptor,    // EMFILE, ENFILE and their like when accepting
    cancelled,        // ECANCELED without a request
    reset,            // ECONNRESET, ECONNABORTED
    unseen_reset,     // a reset that an armed receive does not report
    interrupted,      // EINTR, EAGAIN
    late,             // up to 400 ms
    reordered,        // completions of different operations swap places
    ended_multishot,  // a result without IORING_CQE_F_MORE
    spare_buffer,     // a buffer with an end or an error
    overflow,         // the completion queue is full
    refused_enter,    // EBUSY, EAGAIN, ENOMEM
    part_submitted,   // fewer submissions accepted than queued
    full_queue,       // the writer accepts no more
    late_commit,
};
inline constexpr std::size_t fault_count = 18;
std::string_view name_of(fault kind);
using fault_counts = std::array<std::uint64_t, fault_count>;

inline constexpr base::mono_ns us = 1000, ms = 1000 * us, second = 1000 * ms;

class world {
  public:
    explicit world(std::uint64_t seed);
    ~world();
    world(world const&) = delete;
    world& operator=(world const&) = delete;

    // The current world; null outside of a run. Any thread.
    static world* current();
    base::mono_ns now() const { return now_.load(std::memory_order_relaxed); }
    base::wall_ms wall() const;

    // Events with the same time run in the order of these calls.
    void after(base::mono_ns delay, std::function<void()> callback);
    // Runs the next event that is due until `deadline`; false if there is none.
    bool step(base::mono_ns deadline);
    void pass(base::mono_ns duration);
    void move_to(base::mono_ns time);

    std::uint64_t below(std::uint64_t bound);
    bool chance(unsigned per_mille) { return below(1000) < per_mille; }
    // Decides by the world's rate whether to inject that fault here; counts it if so.
    bool strikes(fault kind);
    void count(fault kind) { ++counts_[static_cast<std::size_t>(kind)]; }
    // Injects no faults from now on.
    void calm() { rates_.fill(0); }
    fault_counts const& counts() const { return counts_; }

    void trace(std::string_view bytes);
    void trace(std::uint64_t number);
    std::uint64_t traced() const { return trace_; }

    // Ends the process of the run with a message.
    [[noreturn]] void fail(std::string_view message) const;
    void expect(bool holds, std::string_view message) const {
        if (!holds) fail(message);
    }

  private:
    std::uint64_t seed_;
    std::mt19937_64 random_;
    std::atomic<base::mono_ns> now_;
    std::uint64_t sequence_ = 0;
    std::map<std::pair<base::mono_ns, std::uint64_t>, std::function<void()>> events_;
    std::array<unsigned, fault_count> rates_{};
    fault_counts counts_{};
    std::uint64_t trace_ = 14'695'981'039'346'656'037u;
};

}  // namespace latchkey::fake
