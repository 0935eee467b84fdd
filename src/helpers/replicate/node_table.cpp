#include "helpers/replicate/node_table.hpp"

#include <algorithm>

#include "base/time_units.hpp"

namespace latchkey::replicate {
namespace {

using replicate::protocol::boot_ns;

constexpr boot_ns clock_margin = base::second;
// For how long a node that joins and holds no lease counts as alive without a renewal.
constexpr boot_ns joining_time = 30 * base::second;

}  // namespace

void node_table::observe(std::vector<node_row> const& lines, boot_ns now) {
    for (auto& [key, entry] : entries_) entry.listed = false;
    for (auto const& line : lines) {
        auto const [place, added] = entries_.try_emplace({line.name, line.instance});
        auto& [state, listed] = place->second;
        bool const renewed = added || state.renewal != line.renewal;
        state.name = line.name;
        state.instance = line.instance;
        state.position = line.position;
        state.renewal = line.renewal;
        state.lease_ms = line.lease_ms;
        state.schema = line.schema;
        state.version = line.version;
        state.departed = line.departed;
        listed = true;
        if (renewed) state.renewal_seen = now;
        if (line.departed)
            state.lease_end = 0;  // given back, or waited for by the one who wrote it
        else if (renewed && line.lease_ms != 0)
            state.lease_end =
                std::max(state.lease_end, now + line.lease_ms * base::millisecond + clock_margin);
    }
    std::erase_if(entries_, [&](auto const& each) {
        return !each.second.listed && each.second.state.lease_end <= now;
    });
}

bool node_table::is_alive(entry const& entry, boot_ns now) {
    auto const& state = entry.state;
    if (state.departed) return false;
    return state.lease_end > now ||
           (state.lease_ms == 0 && entry.listed && now - state.renewal_seen < joining_time);
}

replicate::protocol::confirmed node_table::confirmation(std::uint64_t position,
                                                        replicate::protocol::identity const& self,
                                                        boot_ns now) const {
    replicate::protocol::confirmed result{.position = position, .watched = position};
    for (auto const& [key, entry] : entries_) {
        auto const& state = entry.state;
        if (state.instance == self || state.lease_end <= now || state.position >= position)
            continue;
        result.position = std::min(result.position, state.position);
        result.lease_end = std::max(result.lease_end, state.lease_end);
    }
    return result;
}

std::uint64_t node_table::lowest_position(std::uint64_t position, boot_ns now) const {
    for (auto const& [key, entry] : entries_)
        if (is_alive(entry, now)) position = std::min(position, entry.state.position);
    return position;
}

bool node_table::is_first(replicate::protocol::identity const& self, boot_ns now) const {
    for (auto const& [key, entry] : entries_)
        if (entry.state.lease_end > now) return entry.state.instance == self;
    return false;
}

replicate::protocol::node_state const* node_table::find(std::string const& name) const {
    auto const place = std::ranges::find_if(
        entries_, [&](auto const& each) { return each.first.first == name && each.second.listed; });
    return place != entries_.end() ? &place->second.state : nullptr;
}

std::vector<replicate::protocol::node_state> node_table::list(boot_ns now) const {
    std::vector<replicate::protocol::node_state> states;
    for (auto const& [key, entry] : entries_) {
        if (!entry.listed) continue;
        auto& state = states.emplace_back(entry.state);
        state.alive = is_alive(entry, now);
        if (state.lease_end <= now) state.lease_end = 0;
    }
    return states;
}

}  // namespace latchkey::replicate
