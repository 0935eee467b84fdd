// A world of its own for one run of a test: a clock that moves only when the test moves it, what
// is going to happen and when, chance from a seed, and the faults that are strewn in. One thread
// but for the clock, which any thread may read. The same seed gives the same run, to the byte;
// `trace` says whether it did.
//
//     world all(seed);
//     all.after(5 * ms, [&] { … });
//     all.pass(10 * ms);                        // it happens
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
    cancelled,        // ECANCELED that nobody asked for
    reset,            // ECONNRESET, ECONNABORTED
    unseen_reset,     // one that an armed receive does not tell of
    interrupted,      // EINTR, EAGAIN
    late,             // up to 400 ms
    reordered,        // completions of different operations change places
    ended_multishot,  // a result without IORING_CQE_F_MORE
    spare_buffer,     // a buffer with an end or an error
    overflow,         // the completion queue is full
    refused_enter,    // EBUSY, EAGAIN, ENOMEM
    part_submitted,   // fewer submissions taken than there were
    full_queue,       // the writer takes no more
    late_commit,
};
inline constexpr std::size_t fault_count = 18;
std::string_view name_of(fault which);
using fault_counts = std::array<std::uint64_t, fault_count>;

inline constexpr base::mono_ns us = 1000, ms = 1000 * us, second = 1000 * ms;

class world {
  public:
    explicit world(std::uint64_t seed);
    ~world();
    world(world const&) = delete;
    world& operator=(world const&) = delete;

    // The one there is; null outside of a run. Any thread.
    static world* current();
    base::mono_ns now() const { return now_.load(std::memory_order_relaxed); }
    base::wall_ms wall() const;

    // What is due at the same time happens in the order in which it was asked for.
    void after(base::mono_ns delay, std::function<void()> what);
    // Goes on to the next that happens, if that is until `until`; false and no move otherwise.
    bool step(base::mono_ns until);
    void pass(base::mono_ns duration);
    void move_to(base::mono_ns when);

    std::uint64_t below(std::uint64_t bound);
    bool chance(unsigned per_mille) { return below(1000) < per_mille; }
    // Whether that fault is to happen here, as often as this world has it; counted if so.
    bool strikes(fault which);
    void count(fault which) { ++counts_[static_cast<std::size_t>(which)]; }
    // From now on none strikes.
    void calm() { rates_.fill(0); }
    fault_counts const& counts() const { return counts_; }

    void trace(std::string_view bytes);
    void trace(std::uint64_t number);
    std::uint64_t traced() const { return trace_; }

    // Ends the run's process: `what` was promised and is not so.
    [[noreturn]] void fail(std::string_view what) const;
    void expect(bool holds, std::string_view what) const {
        if (!holds) fail(what);
    }

  private:
    std::uint64_t seed_;
    std::mt19937_64 random_;
    std::atomic<base::mono_ns> now_;
    std::uint64_t asked_ = 0;
    std::map<std::pair<base::mono_ns, std::uint64_t>, std::function<void()>> due_;
    std::array<unsigned, fault_count> rates_{};
    fault_counts counts_{};
    std::uint64_t trace_ = 14'695'981'039'346'656'037u;
};

}  // namespace latchkey::fake
