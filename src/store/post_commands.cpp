#include <algorithm>

#include "base/limits.hpp"
#include "store/commands.hpp"

namespace latchkey::store {
namespace {

using base::problem;
using model::post_status;

std::string no_such_post(model::id id) {
    return "There is no post " + std::to_string(id) + ".";
}

bool can_be_kept(std::string_view title) {
    return title.size() <= 4 * model::post_title_points_max;
}

// The record, unless it is gone or its user is. Sets `damaged` when it cannot be read.
std::optional<model::post> find_post(transaction& in, model::id id, bool& damaged) {
    auto const bytes = in.get(table::posts, id_key(id));
    if (!bytes) return std::nullopt;
    auto const view = model::decode_post(id, *bytes);
    damaged = !view;
    if (!view) return std::nullopt;
    auto post = model::copy_of(*view);
    if (is_doomed(in, post.user_id)) return std::nullopt;
    return post;
}

// Counts of the store and of the user; `by` is 1 or -1.
void count(transaction& in, model::id user, post_status status, int by) {
    auto const at = static_cast<std::size_t>(status);
    auto const bytes = in.get(table::index, tally_key(user));
    auto numbers = bytes ? decode_tally(*bytes) : tally{};
    if (!numbers) return in.fail(MDB_CORRUPTED);
    (*numbers)[at] += static_cast<std::uint64_t>(by);
    in.heads().posts[at] += static_cast<std::uint64_t>(by);
    if (sum_of(*numbers) == 0) {
        in.erase(table::index, tally_key(user));
        return;
    }
    encode(*numbers, in.scratch);
    in.put(table::index, tally_key(user), in.scratch);
}

void put_status(transaction& in, model::post const& post) {
    std::array<char, 8> user;
    in.put(table::index, posts_in(post.status).add(post.id), id_value(post.user_id, user));
    in.put(table::index, posts_of_user_in(post.user_id, post.status).add(post.id), {});
}

void move_status(transaction& in, model::post const& post, post_status before) {
    in.erase(table::index, posts_in(before).add(post.id));
    in.erase(table::index, posts_of_user_in(post.user_id, before).add(post.id));
    put_status(in, post);
    count(in, post.user_id, before, -1);
    count(in, post.user_id, post.status, 1);
}

base::fault at_user_id(base::field_code code, std::string detail) {
    return {.at = "/user_id", .code = code, .detail = std::move(detail)};
}

}  // namespace

void insert_post(transaction& in, model::post const& post, bool appended) {
    encode(post, in.scratch);
    if (appended)
        in.append(table::posts, id_key(post.id), in.scratch);
    else
        in.put(table::posts, id_key(post.id), in.scratch);
}

void index_post(transaction& in, model::post const& post) {
    in.put(table::index, posts_of_user(post.user_id).add(post.id), {});
    put_status(in, post);
}

void count_new_posts(transaction& in, model::id user, tally const& more) {
    auto const bytes = in.get(table::index, tally_key(user));
    auto numbers = bytes ? decode_tally(*bytes) : tally{};
    if (!numbers) return in.fail(MDB_CORRUPTED);
    for (std::size_t i = 0; i < more.size(); ++i) {
        (*numbers)[i] += more[i];
        in.heads().posts[i] += more[i];
    }
    encode(*numbers, in.scratch);
    in.put(table::index, tally_key(user), in.scratch);
}

outcome run(transaction& in, create_post const& what, command const& whole) {
    auto faults = whole.faults;
    if (what.user_id && !in.has(table::users, id_key(*what.user_id)))
        faults.push_back(
            at_user_id(base::field_code::reference_not_found, "There is no user with this id."));
    if (!what.user_id && faults.empty())
        faults.push_back(at_user_id(base::field_code::required, "A post belongs to a user."));
    if (!faults.empty()) return invalid(std::move(faults));
    if (!can_be_kept(what.title)) return refused(problem::internal_error);
    if (auto no = unmet(whole)) return std::move(*no);
    if (in.heads().last_post >= base::limits::id_max) return refused(problem::storage_full);
    if (auto const full = no_room(in, true)) return refused(*full);

    model::post post{.id = in.heads().last_post + 1,
                     .user_id = *what.user_id,
                     .title = what.title,
                     .body = what.body,
                     .status = what.status,
                     .published_at = what.status == post_status::published ? in.now() : 0,
                     .created_at = in.now(),
                     .updated_at = in.now()};
    insert_post(in, post, true);
    index_post(in, post);
    count(in, post.user_id, post.status, 1);
    in.heads().last_post = post.id;
    return {.record = std::move(post)};
}

outcome run(transaction& in, change_post const& what, command const& whole) {
    bool damaged = false;
    auto found = find_post(in, what.id, damaged);
    if (damaged) return refused(problem::internal_error);
    if (!found) return missing(whole, no_such_post(what.id));
    auto post = std::move(*found);

    auto const tag = [&] { return model::tag_of(model::view_of(post)); };
    if (whole.faults.empty())
        if (auto no = unmet(whole, tag)) return std::move(*no);
    auto faults = whole.faults;
    compare(what.expected,
            {.id = post.id,
             .user_id = post.user_id,
             .created_at = post.created_at,
             .updated_at = post.updated_at,
             .published_at = post.published_at},
            faults);
    if (!faults.empty()) return invalid(std::move(faults));

    auto const before = post.status;
    auto const status = what.status.value_or(before);
    if (!model::can_become(before, status))
        return refused(problem::invalid_state_transition,
                       "A post that is " + std::string(name_of(before)) + " cannot become " +
                           std::string(name_of(status)) + ".");
    auto const same = [](auto const& sent, auto const& had) { return !sent || *sent == had; };
    if (status == before && same(what.title, post.title) && same(what.body, post.body))
        return {.record = std::move(post)};
    if (what.title && !can_be_kept(*what.title)) return refused(problem::internal_error);
    if (auto const full = no_room(in, true)) return refused(*full);

    if (what.title) post.title = *what.title;
    if (what.body) post.body = *what.body;
    post.status = status;
    if (status == post_status::published && before != status) post.published_at = in.now();
    if (status == post_status::draft) post.published_at = 0;
    post.updated_at = in.now();
    encode(post, in.scratch);
    in.put(table::posts, id_key(post.id), in.scratch);
    if (status != before) move_status(in, post, before);
    return {.record = std::move(post)};
}

outcome run(transaction& in, delete_post const& what, command const& whole) {
    bool damaged = false;
    auto const post = find_post(in, what.id, damaged);
    if (damaged) return refused(problem::internal_error);
    if (!post) return missing(whole, no_such_post(what.id));
    if (!whole.faults.empty()) return invalid(whole.faults);
    auto const tag = [&] { return model::tag_of(model::view_of(*post)); };
    if (auto no = unmet(whole, tag)) return std::move(*no);
    if (auto const full = no_room(in, false)) return refused(*full);

    erase_post(in, model::view_of(*post));
    count(in, post->user_id, post->status, -1);
    return {};
}

}  // namespace latchkey::store
