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

usage& usage::operator+=(usage const& other) {
    for (std::size_t i = 0; i < by_status.size(); ++i) by_status[i] += other.by_status[i];
    limited += other.limited;
    return *this;
}

void encode(usage const& record, std::string& output) {
    output.clear();
    for (auto const count : record.by_status) base::append(output, count);
    base::append(output, record.limited);
}

std::optional<usage> decode_usage(std::string_view bytes) {
    base::reader input(bytes);
    usage record;
    for (auto& count : record.by_status) count = input.integer<std::uint64_t>();
    record.limited = input.integer<std::uint64_t>();
    if (!input.done() || record.limited > record.by_status[2]) return std::nullopt;
    return record;
}

std::string_view name_of(granularity step) {
    return granularity_names[static_cast<std::size_t>(step)];
}

std::optional<granularity> find_granularity(std::string_view name) {
    for (auto const each : granularities)
        if (name_of(each) == name) return each;
    return std::nullopt;
}

}  // namespace latchkey::model
