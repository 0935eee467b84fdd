// The list of users.
#include "domain/frame/list_part.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::domain {

list_result snapshot::users(range const& part, user_sink sink) const {
    auto& state = *state_;
    id_walk walk(state, table::users, key_bytes{});
    auto const emit = [&] {
        auto const bytes = walk.content();
        auto const user =
            state.readable(bytes ? model::decode_user(walk.id(), *bytes) : std::nullopt);
        if (user) sink(*user);
        return user.has_value();
    };
    return list_part(walk, part, state.counters().users, [] { return true; }, emit).emit();
}

}  // namespace latchkey::domain
