#include "base/limits.hpp"
#include "store/commands.hpp"

namespace latchkey::store {
namespace {

using base::problem;

std::string no_such_user(model::id id) {
    return "There is no user " + std::to_string(id) + ".";
}

outcome email_taken() {
    return refused(problem::email_taken,
                   "Another user has this e-mail address (upper and lower case do not count).");
}

// A record longer than that could not be indexed; handlers refuse it long before.
bool can_be_kept(std::string_view name, std::string_view email) {
    return email.size() <= model::email_bytes_max && name.size() <= 4 * model::user_name_points_max;
}

}  // namespace

void insert_user(transaction& in, model::user const& user, bool appended) {
    encode(user, in.scratch);
    if (appended)
        in.append(table::users, id_key(user.id), in.scratch);
    else
        in.put(table::users, id_key(user.id), in.scratch);
    ++in.heads().users;
}

void index_user(transaction& in, std::string_view folded_email, model::id id) {
    std::array<char, 8> bytes;
    in.put(table::index, email_key(folded_email), id_value(id, bytes));
}

outcome run(transaction& in, create_user const& what, command const& whole) {
    if (!whole.faults.empty()) return invalid(whole.faults);
    if (!can_be_kept(what.name, what.email)) return refused(problem::internal_error);
    auto const folded = model::folded_email(what.email);
    if (auto no = unmet(whole)) return std::move(*no);
    if (in.has(table::index, email_key(folded))) return email_taken();
    if (in.heads().last_user >= base::limits::id_max) return refused(problem::storage_full);
    if (auto const full = no_room(in, true)) return refused(*full);

    model::user const user{in.heads().last_user + 1, what.name, what.email, in.now(), in.now()};
    insert_user(in, user, true);
    index_user(in, folded, user.id);
    in.heads().last_user = user.id;
    return {.record = user};
}

outcome run(transaction& in, change_user const& what, command const& whole) {
    auto const bytes = in.get(table::users, id_key(what.id));
    if (!bytes) return missing(whole, no_such_user(what.id));
    auto const view = model::decode_user(what.id, *bytes);
    if (!view) return refused(problem::internal_error);
    auto user = model::copy_of(*view);

    auto const tag = [&] { return model::tag_of(model::view_of(user)); };
    if (whole.faults.empty())
        if (auto no = unmet(whole, tag)) return std::move(*no);
    auto faults = whole.faults;
    compare(what.expected,
            {.id = user.id, .created_at = user.created_at, .updated_at = user.updated_at}, faults);
    if (!faults.empty()) return invalid(std::move(faults));

    auto const name = what.name.value_or(user.name);
    auto const email = what.email.value_or(user.email);
    if (!can_be_kept(name, email)) return refused(problem::internal_error);
    auto const folded_before = model::folded_email(user.email);
    auto const folded = model::folded_email(email);
    if (folded != folded_before && in.has(table::index, email_key(folded))) return email_taken();
    if (name == user.name && email == user.email) return {.record = std::move(user)};
    if (auto const full = no_room(in, true)) return refused(*full);

    user.name = name;
    user.email = email;
    user.updated_at = in.now();
    encode(user, in.scratch);
    in.put(table::users, id_key(user.id), in.scratch);
    if (folded != folded_before) {
        in.erase(table::index, email_key(folded_before));
        index_user(in, folded, user.id);
    }
    return {.record = std::move(user)};
}

outcome run(transaction& in, delete_user const& what, command const& whole) {
    auto const bytes = in.get(table::users, id_key(what.id));
    if (!bytes) return missing(whole, no_such_user(what.id));
    auto const view = model::decode_user(what.id, *bytes);
    if (!view) return refused(problem::internal_error);
    auto const folded = model::folded_email(view->email);
    if (!whole.faults.empty()) return invalid(whole.faults);
    if (auto no = unmet(whole, [&] { return model::tag_of(*view); })) return std::move(*no);
    auto const tally_bytes = in.get(table::index, tally_key(what.id));
    auto const posts = tally_bytes ? decode_tally(*tally_bytes) : tally{};
    if (!posts) return refused(problem::internal_error);
    if (auto const full = no_room(in, false)) return refused(*full);

    in.erase(table::users, id_key(what.id));
    in.erase(table::index, email_key(folded));
    in.erase(table::index, tally_key(what.id));
    --in.heads().users;
    for (std::size_t i = 0; i < posts->size(); ++i) in.heads().posts[i] -= (*posts)[i];
    auto const count = sum_of(*posts);
    if (count <= purge_posts_max) {
        erase_posts_of(in, what.id, purge_posts_max);
        in.weigh(count);
    } else {
        // From this commit on nobody sees them; the writer removes them bit by bit.
        std::array<char, 8> value;
        in.put(table::index, purge_key(what.id), id_value(static_cast<model::id>(count), value));
        ++in.heads().purges;
    }
    return {};
}

}  // namespace latchkey::store
