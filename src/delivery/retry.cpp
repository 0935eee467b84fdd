#include "delivery/retry.hpp"

#include <algorithm>
#include <array>

#include "model/webhook.hpp"

namespace latchkey::delivery {
namespace {

constexpr base::wall_ms second = 1000, minute = 60 * second, hour = 60 * minute;
constexpr std::array<base::wall_ms, model::delivery_attempts_max - 1> pauses = {
    5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour,
    10 * hour,  14 * hour,  20 * hour,   24 * hour};
constexpr base::wall_ms retry_after_max = 24 * hour;

}  // namespace

std::uint64_t jitter::next() {
    std::uint64_t mix = state_ += 0x9e3779b97f4a7c15;
    mix = (mix ^ (mix >> 30)) * 0xbf58476d1ce4e5b9;
    mix = (mix ^ (mix >> 27)) * 0x94d049bb133111eb;
    return mix ^ (mix >> 31);
}

std::optional<base::wall_ms> retry_pause(unsigned attempts, std::uint32_t retry_after_seconds,
                                         jitter& jitter) {
    if (attempts == 0 || attempts > pauses.size()) return std::nullopt;
    auto const pause = pauses[attempts - 1];
    auto const extra =
        static_cast<base::wall_ms>(jitter.next() % static_cast<std::uint64_t>(pause / 10 + 1));
    auto const wish = std::min(retry_after_max, base::wall_ms{retry_after_seconds} * second);
    return std::max(pause + extra, wish);
}

}  // namespace latchkey::delivery
