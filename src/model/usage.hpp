// How much a key was used (API §4, usage): how many of its requests were answered, by class of
// status, within one minute, hour or day. Values, any thread. Encoded: five numbers (8 bytes each,
// big-endian), 2xx to 5xx and limited.
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

    std::array<std::uint64_t, classes.size()> by_status{};  // as `classes`
    std::uint64_t limited = 0;  // of them, those that the key's own limits refused

    void count(unsigned status, bool was_limited);  // 200 to 599
    std::uint64_t requests() const;
    usage& operator+=(usage const& more);
    bool operator==(usage const&) const = default;
};
void encode(usage const& whole, std::string& to);  // replaces `to`
std::optional<usage> decode_usage(std::string_view bytes);

// Steps of time are aligned to UTC.
enum class granularity : std::uint8_t { minute, hour, day };
inline constexpr std::array granularities{granularity::minute, granularity::hour, granularity::day};
std::string_view name_of(granularity which);
std::optional<granularity> find_granularity(std::string_view name);

constexpr base::wall_ms length_of(granularity which) {
    constexpr std::array<base::wall_ms, granularities.size()> lengths{60'000, 3'600'000,
                                                                      86'400'000};
    return lengths[static_cast<std::size_t>(which)];
}
// How long a step is kept behind its end: 24 hours, 31 days, 400 days.
constexpr base::wall_ms kept_of(granularity which) {
    constexpr base::wall_ms day = length_of(granularity::day);
    constexpr std::array<base::wall_ms, granularities.size()> times{day, 31 * day, 400 * day};
    return times[static_cast<std::size_t>(which)];
}
// The beginning of the step that `time` is in.
constexpr base::wall_ms start_of(granularity which, base::wall_ms time) {
    auto const length = length_of(which);
    auto const into = time % length;
    return time - (into < 0 ? into + length : into);
}
// The first step that is still kept.
constexpr base::wall_ms first_kept(granularity which, base::wall_ms now) {
    return start_of(which, now - kept_of(which));
}

}  // namespace latchkey::model
