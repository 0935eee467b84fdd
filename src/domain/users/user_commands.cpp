// Creating, changing and deleting users.
#include "base/limits.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/frame/rejection.hpp"
#include "domain/posts/purge.hpp"
#include "domain/users/user_record.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

std::string missing_user_detail(model::id id) {
    return "There is no user " + std::to_string(id) + ".";
}

outcome reject_taken_email() {
    return reject(problem::email_taken,
                  "Another user has this email address (upper and lower case do not count). Use "
                  "another one, or find that user with GET /api/v1/users?email=ADDRESS.");
}

// A longer record could not be indexed; handlers check tighter bounds before.
bool is_storable(std::string_view name, std::string_view email) {
    return email.size() <= model::email_bytes_max && name.size() <= 4 * model::user_name_points_max;
}

}  // namespace

outcome run(transaction& txn, create_user const& action, command const& command) {
    if (!command.faults.empty()) return reject_invalid(command.faults);
    if (!is_storable(action.name, action.email)) return reject(problem::internal_error);
    auto const folded = model::folded_email(action.email);
    if (auto rejection = check_conditions(command)) return std::move(*rejection);
    if (txn.has(table::index, email_key(folded))) return reject_taken_email();
    if (txn.counters().last_user >= base::limits::id_max) return reject(problem::storage_full);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    model::user const user{txn.counters().last_user + 1, action.name, action.email, txn.now(),
                           txn.now()};
    insert_user(txn, user, true);
    index_user(txn, folded, user.id);
    txn.counters().last_user = user.id;
    note_change(txn, model::change_type::user_created, command.caller, user);
    return {.record = user};
}

outcome run(transaction& txn, change_user const& action, command const& command) {
    auto const bytes = txn.get(table::users, id_key(action.id));
    if (!bytes) return reject_missing(command, missing_user_detail(action.id));
    auto const view = model::decode_user(action.id, *bytes);
    if (!view) return reject(problem::internal_error);
    auto user = model::copy_of(*view);

    auto const tag = [&] { return model::tag_of(model::view_of(user)); };
    if (command.faults.empty())
        if (auto rejection = check_conditions(command, tag)) return std::move(*rejection);
    auto faults = command.faults;
    compare(action.expected,
            {.id = user.id, .created_at = user.created_at, .updated_at = user.updated_at}, faults);
    if (!faults.empty()) return reject_invalid(std::move(faults));

    auto const name = action.name.value_or(user.name);
    auto const email = action.email.value_or(user.email);
    if (!is_storable(name, email)) return reject(problem::internal_error);
    auto const old_folded = model::folded_email(user.email);
    auto const folded = model::folded_email(email);
    if (folded != old_folded && txn.has(table::index, email_key(folded)))
        return reject_taken_email();
    if (name == user.name && email == user.email) return {.record = std::move(user)};
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    user.name = name;
    user.email = email;
    user.updated_at = txn.now();
    encode(user, txn.scratch);
    txn.put(table::users, id_key(user.id), txn.scratch);
    if (folded != old_folded) {
        txn.erase(table::index, email_key(old_folded));
        index_user(txn, folded, user.id);
    }
    note_change(txn, model::change_type::user_updated, command.caller, user);
    return {.record = std::move(user)};
}

outcome run(transaction& txn, delete_user const& action, command const& command) {
    auto const bytes = txn.get(table::users, id_key(action.id));
    if (!bytes) return reject_missing(command, missing_user_detail(action.id));
    auto const view = model::decode_user(action.id, *bytes);
    if (!view) return reject(problem::internal_error);
    auto const user = model::copy_of(*view);
    if (!command.faults.empty()) return reject_invalid(command.faults);
    if (auto rejection =
            check_conditions(command, [&] { return model::tag_of(model::view_of(user)); }))
        return std::move(*rejection);
    auto const tally_bytes = txn.get(table::index, tally_key(action.id));
    auto const posts = tally_bytes ? decode_tally(*tally_bytes) : tally{};
    if (!posts) return reject(problem::internal_error);
    if (auto const shortage = check_capacity(txn, false)) return reject(*shortage);

    txn.erase(table::users, id_key(action.id));
    txn.erase(table::index, email_key(model::folded_email(user.email)));
    txn.erase(table::index, tally_key(action.id));
    --txn.counters().users;
    for (std::size_t i = 0; i < posts->size(); ++i) txn.counters().posts[i] -= (*posts)[i];
    note_change(txn, model::change_type::user_deleted, command.caller, user);
    auto const count = sum_of(*posts);
    auto const erased = count <= purge_posts_max
                            ? erase_posts_of(txn, action.id, purge_posts_max, command.caller)
                            : 0;
    txn.add_weight(erased);
    if (erased < count) {
        // Snapshots leave them out from this commit on; the writer removes them batch by batch.
        std::array<char, 8> value;
        txn.put(table::index, purge_key(action.id), id_value(static_cast<model::id>(count), value));
        ++txn.counters().purges;
    }
    return {};
}

std::size_t bytes_of(create_user const& action) {
    return action.name.size() + action.email.size();
}

std::size_t bytes_of(change_user const& action) {
    return text_bytes(action.name) + text_bytes(action.email);
}

}  // namespace latchkey::domain
