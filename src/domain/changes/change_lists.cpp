// Reading what has changed (api.md §16).
#include "domain/frame/id_walk.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::domain {

change_bounds snapshot::changes() const {
    id_walk walk(*state_, table::changes, {});
    change_bounds bounds;
    if (!walk.last()) return bounds;
    bounds.last = walk.id();
    if (walk.first()) bounds.oldest = walk.id();
    return bounds;
}

std::optional<change_view> snapshot::change(model::id sequence) const {
    auto const bytes = state_->get(table::changes, id_key(sequence));
    return bytes ? state_->readable(decode_change(sequence, *bytes)) : std::nullopt;
}

void snapshot::changes_after(model::id position, change_visitor visitor) const {
    id_walk walk(*state_, table::changes, {});
    for (bool more = walk.at_or_above(position + 1); more; more = walk.next()) {
        auto const bytes = walk.content();
        auto const change =
            state_->readable(bytes ? decode_change(walk.id(), *bytes) : std::nullopt);
        if (!change || !visitor(*change)) return;
    }
}

}  // namespace latchkey::domain
