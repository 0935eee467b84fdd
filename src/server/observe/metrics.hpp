// The counters of one worker. Each has a single writer, the worker's thread, and is read by the
// main thread, which serves `/metrics` and sums up the workers. So an increment is a relaxed load,
// an addition and a relaxed store, without a locked instruction; a reader may see it a little late.
//
//     on the worker:     metrics.record_request(exchange, status, code, duration);
//     on any thread:     metrics.requests(row, method, status_class).read()
//
// No label comes from a client, so the cardinality is bounded: a route is its pattern, a method one
// of http::method, a problem one of the contract's codes.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "api/exchange/exchange.hpp"
#include "base/clock.hpp"
#include "base/problem.hpp"
#include "server/observe/status_codes.hpp"
#include "session/log_entry.hpp"
#include "wire/http/request.hpp"

namespace latchkey::server {

// A counter or, with `set`, a gauge.
class counter {
  public:
    void add(std::uint64_t amount = 1) { set(read() + amount); }
    void set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
    std::uint64_t read() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_{0};
};

// Log-linear histogram of durations in nanoseconds (Tene, HdrHistogram): 64 buckets per power of
// two, so the middle of a bucket is within 0.8 % of every value in it. Longer than 137 seconds
// counts as 137 seconds. 16 KiB.
class histogram {
  public:
    static constexpr unsigned steps = 64;  // per power of two
    static constexpr std::size_t buckets = 2048;
    static constexpr std::uint64_t longest = (std::uint64_t{1} << 37) - 1;

    void record(base::mono_ns duration);
    // A copy of the counts, the sum of one or more histograms.
    struct reading {
        std::array<std::uint64_t, buckets> counts{};
        std::uint64_t sum_ns = 0;

        std::uint64_t count() const;
        // The number of durations up to `bound` nanoseconds; the bound is precise to 0.8 %.
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
    static constexpr std::size_t status_classes = 5;  // 1xx to 5xx, from 0
    static constexpr std::size_t sources = 7;         // of api::key_source

    worker_metrics();

    // Counts an answered request. `exchange` is null for one that the parser refused.
    void record_request(api::exchange const* exchange, std::uint16_t status, base::problem code,
                        base::mono_ns duration);

    // `row`: the first of api::routes() with that pattern; routes().size() for requests without
    // one.
    std::uint64_t requests(std::size_t row, http::method method, std::size_t status_class) const;
    // The same for the single status of `slot` (status_codes.hpp).
    std::uint64_t requests_of_slot(std::size_t row, http::method method, std::size_t slot) const {
        return requests_[index_of(row, method, slot)].read();
    }
    // By row of api::routes(), which stands for method and pattern; the last row has the rest.
    histogram const& durations(std::size_t row) const { return durations_[row]; }

    std::array<counter, static_cast<std::size_t>(base::problem::count_)> problems;
    std::array<counter, sources> credentials;
    std::array<counter, static_cast<std::size_t>(session::protocol::count_)> protocols;
    counter bytes_in, bytes_out;               // of messages, without TLS
    counter accepted, turned_down, passed_on;  // connections
    counter http2_connections;
    counter handshakes_full, handshakes_resumed, handshakes_failed;
    counter turns, completions, starved, ring_refusals;
    counter prefetch_hints;  // requests whose record was prefetched
    histogram token_waits;   // of the requests that waited for tokens
    // Gauges, set once per turn.
    counter connections, in_flight, anonymous, event_streams, held_bytes, free_buffers;
    counter held_bytes_most;  // since worker::reset_held_peak
    counter cache_hits, cache_misses, cache_unknown, cache_malformed, cache_dropped;
    counter token_hits, tokens_verified, tokens_refused;

  private:
    static std::size_t index_of(std::size_t row, http::method method, std::size_t slot) {
        return (row * methods + static_cast<std::size_t>(method)) * status_slots.size() + slot;
    }

    std::vector<std::size_t> pattern_rows_;  // by row: the first row with the same pattern
    std::vector<counter> requests_;
    std::vector<histogram> durations_;
};

}  // namespace latchkey::server
