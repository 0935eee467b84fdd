#include "cluster/quota_members.hpp"

#include <algorithm>

#include "cluster/quota_times.hpp"

namespace latchkey::cluster {

void quota_members::update(std::span<replicate::protocol::quota_member const> list,
                           std::string_view self, boot_ns start) {
    std::map<std::string, member, std::less<>> next;
    for (auto const& each : list) {
        if (each.name == self) continue;
        member state{.process = each.process, .presence = each.presence, .share = each.share};
        auto const row = others_.find(each.name);
        if (row != others_.end() && row->second.process == each.process) {
            auto const& previous = row->second;
            state.reached = each.presence > previous.presence ? last_start_ : previous.reached;
            state.departure = previous.departure;
            if (each.presence == previous.presence + 1) state.departure = previous.reached;
            if (each.presence > previous.presence + 1) state.departure = last_start_;
        }
        next.emplace(each.name, state);
    }
    others_ = std::move(next);
    last_start_ = start;
}

std::uint32_t quota_members::reserve(boot_ns now) const {
    std::uint64_t sum = 0;
    for (auto const& [name, member] : others_)
        if (member.departure == 0 || now - member.departure > quota_silence) sum += member.share;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(sum, replicate::protocol::quota_whole));
}

}  // namespace latchkey::cluster
