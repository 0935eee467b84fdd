// What a worker counts. Each counter has one writer, its worker's thread, and is read by the thread
// that serves `/metrics` (management.hpp), which adds up the workers; so a count is a load, an
// addition and a store, without a locked instruction, and a reader may see it a little late.
//
//     on the worker:     metrics.finished(route, method, status, took);
//     on any thread:     metrics.requests(row, method, status_class).read()
//
// Nothing here is named by a client: a route is its pattern, a method one of http::method's, a
// refusal one of the contract's codes.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "api/exchange.hpp"
#include "base/clock.hpp"
#include "base/problem.hpp"
#include "http/request.hpp"

namespace latchkey::server {

// A counter or, with `set`, a gauge.
class counter {
  public:
    void add(std::uint64_t more = 1) { set(read() + more); }
    void set(std::uint64_t now) { value_.store(now, std::memory_order_relaxed); }
    std::uint64_t read() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_{0};
};

// Durations in nanoseconds, log-linear (Tene, HdrHistogram): 64 buckets for each power of two, so
// that the middle of a bucket is within 0.8 % of everything in it. What is longer than 137 seconds
// counts as that. 16 KiB.
class histogram {
  public:
    static constexpr unsigned steps = 64;  // of a power of two
    static constexpr std::size_t buckets = 2048;
    static constexpr std::uint64_t longest = (std::uint64_t{1} << 37) - 1;

    void record(base::mono_ns duration);
    // What was recorded, as the sum of several.
    struct reading {
        std::array<std::uint64_t, buckets> counts{};
        std::uint64_t sum_ns = 0;

        std::uint64_t count() const;
        // How many lasted `bound` nanoseconds at most, about (0.8 % of the bound).
        std::uint64_t up_to(std::uint64_t bound) const;
    };
    void add_to(reading& sum) const;

    static std::size_t bucket_of(std::uint64_t nanoseconds);
    static std::uint64_t middle_of(std::size_t bucket);

  private:
    std::array<counter, buckets> counts_;
    counter sum_ns_;
};

class alignas(64) worker_metrics {
  public:
    static constexpr std::size_t methods = static_cast<std::size_t>(http::method::other) + 1;
    static constexpr std::size_t status_classes = 5;  // 1xx to 5xx
    static constexpr std::size_t sources = 5;         // of api::key_source

    worker_metrics();

    // A request that was answered. `exchange` is null for one that the parser refused.
    void finished(api::exchange const* exchange, std::uint16_t status, base::problem code,
                  base::mono_ns took);

    // Of the rows of api::routes(), the first with that pattern; the number of routes: no route.
    counter const& requests(std::size_t row, http::method verb, std::size_t status_class) const {
        return requests_[index_of(row, verb, status_class)];
    }
    // By row of api::routes(), method and pattern together; the last one has the rest.
    histogram const& durations(std::size_t row) const { return durations_[row]; }

    std::array<counter, static_cast<std::size_t>(base::problem::count_)> problems;
    std::array<counter, sources> credentials;
    counter bytes_in, bytes_out;               // of messages, without TLS
    counter accepted, turned_down, passed_on;  // connections
    counter handshakes_full, handshakes_resumed, handshakes_failed;
    counter turns, completions, starved, ring_refusals;
    counter foreseen;  // requests whose record was looked for before their turn
    // Set once a turn.
    counter in_flight, held_bytes, free_buffers;
    counter cache_hits, cache_misses, cache_unknown, cache_malformed, cache_dropped;

  private:
    static std::size_t index_of(std::size_t row, http::method verb, std::size_t status_class) {
        return (row * methods + static_cast<std::size_t>(verb)) * status_classes + status_class;
    }

    std::vector<std::size_t> pattern_rows_;  // by row: the first one with its pattern
    std::vector<counter> requests_;
    std::vector<histogram> durations_;
};

}  // namespace latchkey::server
