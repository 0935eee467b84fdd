// Lines of attempts that are sent one at a time, each once the one before it was delivered
// (messages.hpp). What stands in line goes back unsent when the one before it fails, or takes
// longer than `wait_max`: the service decides anew then. A line that is forgotten costs one attempt
// that goes back. No I/O; one thread.
//
//     auto const step = lines.arrive(std::move(attempt), now);   // of a line
//     … send step.next, if any; tell step.unsent …
//     auto const step = lines.finish(result.number, success, now);
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/time_units.hpp"
#include "helpers/deliver/protocol/deliver_messages.hpp"

namespace latchkey::deliver::protocol {

class ordered_lines {
  public:
    // An attempt waits in line for at most this time: it is signed with the time at which it was to
    // be sent, and the service may have lost the right to send meanwhile.
    static constexpr base::mono_ns wait_max = 200 * base::millisecond;
    static constexpr std::size_t lines_max = 2048;  // that are remembered while nothing is in them

    struct step {
        std::optional<attempt> next;  // to be sent now
        std::vector<std::uint64_t> unsent;
    };

    step arrive(attempt&& attempt, base::mono_ns now);
    // To be called for every attempt that was sent; one that belongs to no line changes nothing.
    step finish(std::uint64_t number, bool success, base::mono_ns now);

    std::size_t waiting() const { return waiting_; }

  private:
    struct entry {
        attempt attempt;
        base::mono_ns arrival = 0;
    };
    struct line {
        std::uint64_t active = 0;     // 0: none
        std::uint64_t delivered = 0;  // the last one; 0: not known
        std::deque<entry> queue;
    };
    step begin(line& line, attempt&& attempt);
    step give_back(line& line);

    std::unordered_map<std::uint64_t, line> lines_;
    std::unordered_map<std::uint64_t, std::uint64_t> active_;  // attempt → line
    std::size_t waiting_ = 0;
};

}  // namespace latchkey::deliver::protocol
