// Lists of users. No index has parts of names: for a search each user is read.
#include "domain/users/user_lists.hpp"

#include "domain/frame/list_part.hpp"

namespace latchkey::domain {
namespace {

std::optional<model::user_view> read_user(snapshot_state& state, id_walk& walk) {
    auto const bytes = walk.content();
    return state.readable(bytes ? model::decode_user(walk.id(), *bytes) : std::nullopt);
}

}  // namespace

list_result snapshot::users(range const& part, user_sink sink) const {
    auto& state = *state_;
    id_walk walk(state, table::users, key_bytes{});
    auto const emit = [&] {
        auto const user = read_user(state, walk);
        if (user) sink(*user);
        return user.has_value();
    };
    return list_part(walk, part, state.counters().users, [] { return true; }, emit).emit();
}

bool has_text(model::user_view const& user, base::search_text const& search) {
    return search.is_in(user.name) || search.is_in(user.email);
}

list_result users_with_text(snapshot const& view, std::string_view text, range const& part,
                            snapshot::user_sink sink) {
    auto& state = view.state();
    base::search_text const search(text);
    id_walk walk(state, table::users, key_bytes{});
    std::optional<model::user_view> user;  // where the walk is
    auto const includes = [&] {
        user = read_user(state, walk);
        if (!user) return false;
        state.work.compared += user->name.size() + user->email.size();
        return has_text(*user, search);
    };
    auto const emit = [&] {
        sink(*user);
        return true;
    };
    return filtered_part(walk, part, state.counters().users, includes, emit);
}

}  // namespace latchkey::domain
