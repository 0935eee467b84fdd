// Users as a kind of record: what may be done with them, and what the store as a whole does.
// Values, any thread.
#pragma once

#include <optional>
#include <string>

#include "domain/frame/action.hpp"
#include "domain/frame/expected_members.hpp"
#include "domain/frame/kept_record.hpp"
#include "domain/frame/kind.hpp"
#include "model/user.hpp"

namespace latchkey::domain {

struct create_user {
    std::string name;
    std::string email;
};
// PUT (both members set) or PATCH (those to change). If nothing differs, nothing is written and
// updated_at stays.
struct change_user {
    model::id id = 0;
    std::optional<std::string> name;
    std::optional<std::string> email;
    expected_members expected;
};
// Its posts disappear with the same commit.
struct delete_user {
    model::id id = 0;
};

outcome run(transaction& txn, create_user const& action, command const& command);
outcome run(transaction& txn, change_user const& action, command const& command);
outcome run(transaction& txn, delete_user const& action, command const& command);

std::size_t bytes_of(create_user const& action);
std::size_t bytes_of(change_user const& action);
using user_actions = types<create_user, change_user, delete_user>;
using user_outcomes = types<model::user>;
template <>
struct kept_record<model::user> : kept_whole<1, model::decode_user> {};

void check_users(consistency_check& check);
extern kind const user_kind;

}  // namespace latchkey::domain
