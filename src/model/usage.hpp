// Usage of a key (api.md §4): the number of its requests by class of status, within one minute,
// hour or day. Encoding: five numbers (8 bytes each, big-endian), 2xx to 5xx and limited. Values,
// any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace latchkey::model {

struct usage {
    static constexpr std::array<std::string_view, 4> classes{"2xx", "3xx", "4xx", "5xx"};

    std::array<std::uint64_t, classes.size()> by_status{};  // in the order of `classes`
    std::uint64_t limited = 0;  // the part of 4xx refused by the key's own rate limits

    void count(unsigned status, bool was_limited);  // `status`: 200 to 599
    std::uint64_t requests() const;
    usage& operator+=(usage const& other);
    bool operator==(usage const&) const = default;
};
void encode(usage const& record, std::string& output);  // replaces `output`
std::optional<usage> decode_usage(std::string_view bytes);

// Steps of time, aligned to UTC.
enum class granularity : std::uint8_t { minute, hour, day };
inline constexpr std::array granularities{granularity::minute, granularity::hour, granularity::day};
std::string_view name_of(granularity step);
std::optional<granularity> find_granularity(std::string_view name);

constexpr base::wall_ms length_of(granularity step) {
    constexpr std::array<base::wall_ms, granularities.size()> lengths{60'000, 3'600'000,
                                                                      86'400'000};
    return lengths[static_cast<std::size_t>(step)];
}
// How long a step is kept after its end: 24 hours, 31 days, 400 days.
constexpr base::wall_ms retention_of(granularity step) {
    constexpr base::wall_ms day = length_of(granularity::day);
    constexpr std::array<base::wall_ms, granularities.size()> times{day, 31 * day, 400 * day};
    return times[static_cast<std::size_t>(step)];
}
// The start of the step that contains `time`.
constexpr base::wall_ms start_of(granularity step, base::wall_ms time) {
    auto const length = length_of(step);
    auto const offset = time % length;
    return time - (offset < 0 ? offset + length : offset);
}
// The first step that is not expired.
constexpr base::wall_ms first_retained(granularity step, base::wall_ms now) {
    return start_of(step, now - retention_of(step));
}

}  // namespace latchkey::model
