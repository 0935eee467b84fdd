// Emits a part of a list, whichever index serves it. `skip` starts from the nearer end, so the last
// page costs as much as the first. Private to the domain.
#pragma once

#include "base/limits.hpp"
#include "domain/frame/id_walk.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::domain {

// A count of the index; 0: there is none.
inline std::uint64_t read_count(snapshot_state& state, std::string_view key) {
    auto const bytes = state.get(table::index, key);
    auto const count = bytes ? read_id(*bytes).value_or(0) : 0;
    return static_cast<std::uint64_t>(count);
}

// `Walk` is an id_walk or has its interface. `Includes` tells whether the walk's current element
// belongs to the list; `Emit` emits it and tells whether that succeeded.
template <class Walk, class Includes, class Emit>
class list_part {
  public:
    list_part(Walk& walk, range const& part, std::uint64_t total, Includes includes,
              Emit emit_element)
        : walk_(walk), part_(part), total_(total), includes_(includes), emit_(emit_element) {}

    list_result emit() {
        list_result result{.total = total_};
        if (total_ == 0) return result;
        cost_end_ = end_of(part_.cost_max);
        auto const cost_before = walk_.work().cost();
        bool valid = begin();
        // Not both many elements before the part and a large one.
        bool const is_far = walk_.work().cost() - cost_before >= part_.skip_cost_max / 4;
        bytes_max_ = is_far ? part_.output_bytes_max / 4 : part_.output_bytes_max;
        result.is_out_of_reach = is_ended_ && part_.after_id == 0 && part_.skip != 0;
        if (result.is_out_of_reach) return result;
        std::uint32_t count = 0;
        for (; valid && !is_ended_ && !is_full() && count < part_.limit; valid = step(true))
            if (emit_()) {
                ++count;
                result.last = walk_.id();
            }
        if (valid && is_ended_) result.last = walk_.id();
        result.has_more = valid;
        result.is_cut = valid && count < part_.limit;
        return result;
    }

  private:
    // Moves to the first element of the part.
    bool begin() {
        if (part_.after_id == 0 && part_.skip >= total_) return false;
        skip_cost_end_ = end_of(part_.skip_cost_max);
        if (part_.after_id == 0 && part_.skip > total_ / 2) {
            auto back = total_ - 1 - part_.skip;
            bool valid = skip_excluded(end(false), false);
            for (; valid && !is_ended_ && back != 0; --back) valid = pass(false);
            return valid;
        }
        bool valid =
            skip_excluded(part_.after_id == 0 ? end(true) : seek_after(part_.after_id), true);
        for (auto skip = part_.skip; valid && !is_ended_ && skip != 0; --skip) valid = pass(true);
        return valid;
    }
    std::int64_t end_of(std::int64_t cost_max) {
        return cost_max == INT64_MAX ? INT64_MAX : walk_.work().cost() + cost_max;
    }

    // Moves to the list's first or last element, in the requested order.
    bool end(bool front) { return front != part_.descending ? walk_.first() : walk_.last(); }
    bool seek_after(model::id id) {
        return part_.descending ? walk_.below(id) : walk_.at_or_above(id + 1);
    }
    bool move(bool forward) {
        return forward != part_.descending ? walk_.next() : walk_.previous();
    }
    // Over an element of the list that is before the part.
    bool pass(bool forward) {
        bool const valid = step(forward);
        is_ended_ = is_ended_ || walk_.work().cost() >= skip_cost_end_;
        return valid;
    }
    bool step(bool forward) { return skip_excluded(move(forward), forward); }
    // Ends on an element that is not in the list once too much was read.
    bool skip_excluded(bool valid, bool forward) {
        while (valid && !is_ended_ && !includes_()) {
            is_ended_ = walk_.work().cost() >= cost_end_;
            if (!is_ended_) valid = move(forward);
        }
        return valid;
    }
    bool is_full() const { return part_.output != nullptr && part_.output->size() >= bytes_max_; }

    Walk& walk_;
    range const& part_;
    std::uint64_t total_;
    Includes includes_;
    Emit emit_;
    std::int64_t cost_end_ = INT64_MAX, skip_cost_end_ = INT64_MAX;
    std::size_t bytes_max_ = SIZE_MAX;
    bool is_ended_ = false;
};

// The part of a list whose elements are told by reading all that the walk has, `candidates` at most
// (0: not known). They are counted where there are few, or where the cost of the part is unbounded;
// what counting costs, the part has less for itself.
template <class Walk, class Includes, class Emit>
list_result filtered_part(Walk& walk, range const& part, std::uint64_t candidates,
                          Includes includes, Emit emit_element) {
    auto const is_bounded = part.cost_max != INT64_MAX;
    auto rest = part;
    std::optional<std::uint64_t> total;
    if (!is_bounded || candidates <= base::limits::counted_elements_max) {
        auto const begin = walk.work().cost();
        auto const end = is_bounded ? begin + part.cost_max : INT64_MAX;
        bool valid = walk.first();
        std::uint64_t count = 0;
        for (; valid && walk.work().cost() < end; valid = walk.next()) count += includes() ? 1 : 0;
        if (!valid) total = count;
        rest.cost_max = part.cost_max / 2;
        if (walk.work().cost() - begin >= part.cost_max / 4) rest.output_bytes_max /= 4;
    }
    auto result = list_part(walk, rest, total.value_or(UINT64_MAX), includes, emit_element).emit();
    result.is_counted = total.has_value();
    result.total = total.value_or(0);
    return result;
}

}  // namespace latchkey::domain
