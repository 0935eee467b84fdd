#include "server/observe/metrics.hpp"

#include <algorithm>

#include "api/frame/route.hpp"

namespace latchkey::server {
namespace {

constexpr unsigned step_bits = std::bit_width(histogram::steps) - 1;

// The first row with that pattern, whether the request was served or not.
std::size_t row_of_pattern(std::string_view pattern) {
    auto const routes = api::routes();
    auto const position = std::find_if(routes.begin(), routes.end(),
                                       [&](auto const& each) { return each.pattern == pattern; });
    return static_cast<std::size_t>(position - routes.begin());
}

}  // namespace

// Values below 64 have a bucket each; above, the power of two and the six bits after the leading
// one select it.
std::size_t histogram::bucket_of(std::uint64_t nanoseconds) {
    auto const value = std::min(nanoseconds, longest);
    if (value < steps) return static_cast<std::size_t>(value);
    auto const shift = static_cast<unsigned>(std::bit_width(value)) - 1 - step_bits;
    return shift * steps + static_cast<std::size_t>(value >> shift);
}

std::uint64_t histogram::middle_of(std::size_t bucket) {
    if (bucket < 2 * steps) return bucket;
    auto const shift = bucket / steps - 1;
    auto const begin = (steps + bucket % steps) << shift;
    return begin + (std::uint64_t{1} << shift) / 2;
}

void histogram::record(base::mono_ns duration) {
    auto const value = static_cast<std::uint64_t>(std::max<base::mono_ns>(duration, 0));
    counts_[bucket_of(value)].add();
    sum_ns_.add(value);
}

void histogram::add_to(reading& sum) const {
    for (std::size_t i = 0; i < buckets; ++i) sum.counts[i] += counts_[i].read();
    sum.sum_ns += sum_ns_.read();
}

std::uint64_t histogram::reading::count() const {
    std::uint64_t all = 0;
    for (auto const each : counts) all += each;
    return all;
}

std::uint64_t histogram::reading::up_to(std::uint64_t bound) const {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < buckets && middle_of(i) <= bound; ++i) all += counts[i];
    return all;
}

worker_metrics::worker_metrics()
    : requests_((api::routes().size() + 1) * methods * status_slots.size()),
      durations_(api::routes().size() + 1) {
    for (auto const& each : api::routes()) pattern_rows_.push_back(row_of_pattern(each.pattern));
}

std::uint64_t worker_metrics::requests(std::size_t row, http::method method,
                                       std::size_t status_class) const {
    std::uint64_t sum = 0;
    for (std::size_t slot = 0; slot < status_slots.size(); ++slot)
        if (status_slots[slot].status_class == status_class + 1)
            sum += requests_of_slot(row, method, slot);
    return sum;
}

void worker_metrics::record_request(api::exchange const* exchange, std::uint16_t status,
                                    base::problem code, base::mono_ns duration) {
    auto const unmatched = pattern_rows_.size();
    auto pattern_row = unmatched, row = unmatched;
    auto method = http::method::other;
    if (exchange != nullptr) {
        method = exchange->method();
        if (auto const* const handler = exchange->handler()) {
            row = static_cast<std::size_t>(handler - api::routes().data());
            pattern_row = pattern_rows_[row];
        } else {
            pattern_row = row_of_pattern(exchange->route());
        }
        credentials[static_cast<std::size_t>(exchange->source())].add();
    }
    requests_[index_of(pattern_row, method, slot_of(status))].add();
    durations_[row].record(duration);
    problems[static_cast<std::size_t>(code)].add();
}

}  // namespace latchkey::server
