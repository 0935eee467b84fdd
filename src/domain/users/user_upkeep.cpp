// What the store as a whole does with users.
#include <algorithm>

#include "domain/frame/consistency_check.hpp"
#include "domain/frame/time_sweep.hpp"
#include "domain/users/user_kind.hpp"

namespace latchkey::domain {
namespace {

using base::wall_ms;

bool is_late_user(model::user_view const& user, wall_ms now) {
    return std::max(user.created_at, user.updated_at) > now;
}

void redate_user(transaction& txn, model::user_view const& view, wall_ms now) {
    auto user = model::copy_of(view);
    clamp(user.created_at, now);
    clamp(user.updated_at, now);
    encode(user, txn.scratch);
    txn.put(table::users, id_key(user.id), txn.scratch);
}

constexpr tag user_tags[] = {tag::email, tag::purge};
constexpr time_sweep user_sweeps[] = {
    sweep_of<table::users, model::decode_user, is_late_user, redate_user>(
        {"users", "user", "users"})};
constexpr change_name user_changes[] = {{model::change_type::user_created, "user.created"},
                                        {model::change_type::user_updated, "user.updated"},
                                        {model::change_type::user_deleted, "user.deleted"}};

}  // namespace

constinit kind const user_kind{
    .tags = user_tags, .check = check_users, .sweeps = user_sweeps, .changes = user_changes};

}  // namespace latchkey::domain
