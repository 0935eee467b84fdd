// Merges two id_walks into one ascending sequence, for lists that consist of two prefixes of an
// index. No id may be in both, and each walk needs a cursor of its own. The interface of id_walk
// without `first` and `last`. Private to the domain.
#pragma once

#include "domain/frame/id_walk.hpp"

namespace latchkey::domain {

class id_union {
  public:
    id_union(id_walk left, id_walk right) : walks_{left, right} {}

    bool at_or_above(model::id id);
    bool below(model::id id);
    bool next();
    bool previous();

    model::id id() const { return walks_[current_].id(); }
    read_work const& work() const { return walks_[0].work(); }
    std::optional<std::string_view> content() { return walks_[current_].content(); }

  private:
    bool choose(bool forward);

    id_walk walks_[2];
    bool valid_[2] = {false, false};  // the walk is on an element
    bool forward_ = true;             // the other walk is after the current one
    unsigned current_ = 0;
};

}  // namespace latchkey::domain
