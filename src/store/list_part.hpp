// Which part of a list is given out, whatever index serves it. `skip` starts from whichever end is
// nearer, so the last page costs as much as the first. Private to the store.
#pragma once

#include "store/id_walk.hpp"
#include "store/snapshot_state.hpp"

namespace latchkey::store {

// `Counts` says whether the element that the walk stands on belongs to the list at all; `Give`
// hands it out and says whether it could.
template <class Counts, class Give>
class part_of_list {
  public:
    part_of_list(id_walk& walk, range const& part, std::uint64_t total, Counts counts, Give give)
        : walk_(walk), part_(part), total_(total), counts_(counts), give_(give) {}

    listed give_out() {
        listed answer{.total = total_};
        if (total_ == 0) return answer;
        bool there = begin();
        for (std::uint32_t given = 0; there && given < part_.limit; there = step(true))
            if (give_()) ++given, answer.last = walk_.id();
        answer.has_more = there;
        return answer;
    }

  private:
    // Onto the first element of the part.
    bool begin() {
        if (part_.after == 0 && part_.skip >= total_) return false;
        if (part_.after == 0 && part_.skip > total_ / 2) {
            auto back = total_ - 1 - part_.skip;
            bool there = onto(end(false), false);
            for (; there && back != 0; --back) there = step(false);
            return there;
        }
        bool there = onto(part_.after == 0 ? end(true) : behind(part_.after), true);
        for (auto skip = part_.skip; there && skip != 0; --skip) there = step(true);
        return there;
    }

    // The list's first element, or its last one, in the order that was asked for.
    bool end(bool front) { return front != part_.descending ? walk_.first() : walk_.last(); }
    bool behind(model::id id) {
        return part_.descending ? walk_.below(id) : walk_.at_or_above(id + 1);
    }
    bool move(bool forward) {
        return forward != part_.descending ? walk_.next() : walk_.previous();
    }
    bool step(bool forward) { return onto(move(forward), forward); }
    bool onto(bool there, bool forward) {
        while (there && !counts_()) there = move(forward);
        return there;
    }

    id_walk& walk_;
    range const& part_;
    std::uint64_t total_;
    Counts counts_;
    Give give_;
};

}  // namespace latchkey::store
