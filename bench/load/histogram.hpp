// Histogram of latencies with log-linear buckets, like HdrHistogram: 128 buckets per doubling, so
// the error of a quantile is at most 0.8 %. From 1 ns to 73 minutes, fixed memory. One thread;
// merge several with `add`.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace load {

class histogram {
  public:
    void count(std::int64_t nanoseconds) {
        auto const value = static_cast<std::uint64_t>(std::max<std::int64_t>(nanoseconds, 0));
        ++counts_[std::min(index_of(value), bucket_count - 1)];
        ++total_;
        sum_ += value;
        max_ = std::max(max_, value);
    }
    void add(histogram const& other) {
        for (std::size_t i = 0; i < bucket_count; ++i) counts_[i] += other.counts_[i];
        total_ += other.total_;
        sum_ += other.sum_;
        max_ = std::max(max_, other.max_);
    }
    void clear() { *this = {}; }

    std::uint64_t total() const { return total_; }
    double mean() const { return total_ == 0 ? 0 : double(sum_) / double(total_); }
    std::uint64_t max() const { return max_; }
    // The q-quantile (q from 0 to 1), rounded up to the end of its bucket.
    std::uint64_t quantile(double q) const {
        auto const rank = static_cast<std::uint64_t>(q * double(total_) + 0.5);
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < bucket_count; ++i) {
            sum += counts_[i];
            if (sum >= std::max<std::uint64_t>(rank, 1)) return std::min(top_of(i), max_);
        }
        return max_;
    }

  private:
    static constexpr unsigned fine_bits = 7, doublings = 36;
    static constexpr std::size_t bucket_count = std::size_t{doublings} << fine_bits;

    // Below 2^fine_bits every value has a bucket; above, each doubling has 2^fine_bits of them.
    static std::size_t index_of(std::uint64_t value) {
        if (value < (1U << fine_bits)) return value;
        auto const shift = static_cast<unsigned>(std::bit_width(value)) - 1 - fine_bits;
        return (std::size_t{shift + 1} << fine_bits) + ((value >> shift) - (1U << fine_bits));
    }
    static std::uint64_t top_of(std::size_t index) {
        auto const row = index >> fine_bits;
        if (row == 0) return index;
        auto const position = (index & ((1U << fine_bits) - 1)) + (1U << fine_bits);
        return ((position + 1) << (row - 1)) - 1;
    }

    std::array<std::uint64_t, bucket_count> counts_{};
    std::uint64_t total_ = 0, sum_ = 0, max_ = 0;
};

}  // namespace load
