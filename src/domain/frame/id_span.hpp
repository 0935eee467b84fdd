// The elements of a walk whose ids are from `begin` on, before `end`. Same interface as id_walk;
// the walk outlives it. Private to the domain.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "model/id.hpp"
#include "store/read_work.hpp"

namespace latchkey::domain {

template <class Walk>
class id_span {
  public:
    id_span(Walk& walk, model::id begin, model::id end) : walk_(walk), begin_(begin), end_(end) {}

    bool first() { return at_or_above(begin_); }
    bool last() { return below(end_); }
    bool at_or_above(model::id id) { return is_within(walk_.at_or_above(std::max(id, begin_))); }
    bool below(model::id id) { return is_within(walk_.below(std::min(id, end_))); }
    bool next() { return is_within(walk_.next()); }
    bool previous() { return is_within(walk_.previous()); }

    model::id id() const { return walk_.id(); }
    store::read_work const& work() const { return walk_.work(); }
    std::optional<std::string_view> content() { return walk_.content(); }

  private:
    bool is_within(bool valid) const { return valid && walk_.id() >= begin_ && walk_.id() < end_; }

    Walk& walk_;
    model::id begin_, end_;
};

}  // namespace latchkey::domain
