#include "model/usage.hpp"

#include <algorithm>
#include <numeric>

#include "base/bytes.hpp"

namespace latchkey::model {
namespace {

constexpr std::array<std::string_view, granularities.size()> granularity_names{"minute", "hour",
                                                                               "day"};

}  // namespace

void usage::count(unsigned status, bool was_limited) {
    ++by_status[std::clamp(status / 100, 2u, 5u) - 2];
    limited += was_limited ? 1 : 0;
}

std::uint64_t usage::requests() const {
    return std::accumulate(by_status.begin(), by_status.end(), std::uint64_t{0});
}

usage& usage::operator+=(usage const& more) {
    for (std::size_t i = 0; i < by_status.size(); ++i) by_status[i] += more.by_status[i];
    limited += more.limited;
    return *this;
}

void encode(usage const& whole, std::string& to) {
    to.clear();
    for (auto const number : whole.by_status) base::append(to, number);
    base::append(to, whole.limited);
}

std::optional<usage> decode_usage(std::string_view bytes) {
    base::reader from(bytes);
    usage whole;
    for (auto& number : whole.by_status) number = from.integer<std::uint64_t>();
    whole.limited = from.integer<std::uint64_t>();
    if (!from.done() || whole.limited > whole.by_status[2]) return std::nullopt;
    return whole;
}

std::string_view name_of(granularity which) {
    return granularity_names[static_cast<std::size_t>(which)];
}

std::optional<granularity> find_granularity(std::string_view name) {
    for (auto const each : granularities)
        if (name_of(each) == name) return each;
    return std::nullopt;
}

}  // namespace latchkey::model
