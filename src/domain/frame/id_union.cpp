#include "domain/frame/id_union.hpp"

namespace latchkey::domain {

bool id_union::at_or_above(model::id id) {
    for (unsigned i = 0; i < 2; ++i) valid_[i] = walks_[i].at_or_above(id);
    return choose(true);
}

bool id_union::below(model::id id) {
    for (unsigned i = 0; i < 2; ++i) valid_[i] = walks_[i].below(id);
    return choose(false);
}

// Only the walk with the current id moves; after a change of direction both seek again.
bool id_union::next() {
    if (!forward_) return at_or_above(id() + 1);
    valid_[current_] = walks_[current_].next();
    return choose(true);
}

bool id_union::previous() {
    if (forward_) return below(id());
    valid_[current_] = walks_[current_].previous();
    return choose(false);
}

bool id_union::choose(bool forward) {
    forward_ = forward;
    if (!valid_[0] && !valid_[1]) return false;
    bool const left_is_lower = walks_[0].id() < walks_[1].id();
    current_ = !valid_[0] || (valid_[1] && left_is_lower != forward) ? 1 : 0;
    return true;
}

}  // namespace latchkey::domain
