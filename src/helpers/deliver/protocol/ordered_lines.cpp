#include "helpers/deliver/protocol/ordered_lines.hpp"

#include <utility>

namespace latchkey::deliver::protocol {

ordered_lines::step ordered_lines::begin(line& line, attempt&& attempt) {
    line.active = attempt.number;
    active_.emplace(attempt.number, attempt.line);
    return {.next = std::move(attempt), .unsent = {}};
}

ordered_lines::step ordered_lines::give_back(line& line) {
    step step;
    for (auto const& each : std::exchange(line.queue, {}))
        step.unsent.push_back(each.attempt.number);
    waiting_ -= step.unsent.size();
    return step;
}

ordered_lines::step ordered_lines::arrive(attempt&& attempt, base::mono_ns now) {
    if (lines_.size() >= lines_max)
        std::erase_if(lines_, [](auto const& each) { return each.second.active == 0; });
    auto& line = lines_[attempt.line];
    if (line.active == 0) {
        if (attempt.predecessor == 0 || attempt.predecessor == line.delivered)
            return begin(line, std::move(attempt));
        return {.next = std::nullopt, .unsent = {attempt.number}};
    }
    auto const last = line.queue.empty() ? line.active : line.queue.back().attempt.number;
    // One that begins anew waits for what its service has forgotten: sent back, it would come again
    // at once.
    bool const begins = attempt.predecessor == 0 && line.queue.empty();
    if (attempt.predecessor != last && !begins)
        return {.next = std::nullopt, .unsent = {attempt.number}};
    line.queue.push_back({std::move(attempt), now});
    ++waiting_;
    return {};
}

ordered_lines::step ordered_lines::finish(std::uint64_t number, bool success, base::mono_ns now) {
    auto const place = active_.find(number);
    if (place == active_.end()) return {};
    auto& line = lines_[place->second];
    active_.erase(place);
    line.active = 0;
    line.delivered = success ? number : 0;
    if (line.queue.empty()) return {};
    if (!success || now - line.queue.front().arrival > wait_max) return give_back(line);
    auto next = std::move(line.queue.front().attempt);
    line.queue.pop_front();
    --waiting_;
    return begin(line, std::move(next));
}

}  // namespace latchkey::deliver::protocol
