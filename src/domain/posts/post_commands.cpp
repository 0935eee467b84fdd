// Creating, changing and deleting posts.
#include "base/limits.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/frame/rejection.hpp"
#include "domain/posts/post_record.hpp"
#include "domain/posts/purge.hpp"

namespace latchkey::domain {
namespace {

using base::problem;
using model::post_status;

std::string missing_post_detail(model::id id) {
    return "There is no post " + std::to_string(id) + ".";
}

bool is_storable(std::string_view title) {
    return title.size() <= 4 * model::post_title_points_max;
}

// The post, unless it or its user is deleted. Sets `damaged` if it is unreadable.
std::optional<model::post> find_post(transaction& txn, model::id id, bool& damaged) {
    auto const bytes = txn.get(table::posts, id_key(id));
    if (!bytes) return std::nullopt;
    auto const view = model::decode_post(id, *bytes);
    damaged = !view;
    if (!view) return std::nullopt;
    auto post = model::copy_of(*view);
    if (is_being_purged(txn, post.user_id)) return std::nullopt;
    return post;
}

void move_status(transaction& txn, model::post const& post, post_status old_status) {
    txn.erase(table::index, posts_in(old_status).add(post.id));
    txn.erase(table::index, posts_of_user_in(post.user_id, old_status).add(post.id));
    index_status(txn, post);
    count_post(txn, post.user_id, old_status, -1);
    count_post(txn, post.user_id, post.status, 1);
}

model::change_type change_type_of(post_status old_status, post_status status) {
    if (status == old_status) return model::change_type::post_updated;
    if (status == post_status::published) return model::change_type::post_published;
    return status == post_status::archived ? model::change_type::post_archived
                                           : model::change_type::post_updated;
}

base::fault user_id_fault(base::field_code code, std::string detail) {
    return {.location = "/user_id", .code = code, .detail = std::move(detail)};
}

}  // namespace

outcome run(transaction& txn, create_post const& action, command const& command) {
    auto faults = command.faults;
    if (action.user_id && !txn.has(table::users, id_key(*action.user_id)))
        faults.push_back(user_id_fault(base::field_code::reference_not_found, "names no user"));
    if (!action.user_id && faults.empty())
        faults.push_back(
            user_id_fault(base::field_code::required, "is required, a post belongs to a user"));
    if (!faults.empty()) return reject_invalid(std::move(faults));
    if (!is_storable(action.title)) return reject(problem::internal_error);
    if (auto rejection = check_conditions(command)) return std::move(*rejection);
    if (txn.counters().last_post >= base::limits::id_max) return reject(problem::storage_full);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    model::post post{.id = txn.counters().last_post + 1,
                     .user_id = *action.user_id,
                     .title = action.title,
                     .body = action.body,
                     .status = action.status,
                     .published_at = action.status == post_status::published ? txn.now() : 0,
                     .created_at = txn.now(),
                     .updated_at = txn.now()};
    insert_post(txn, post, true);
    index_post(txn, post);
    count_post(txn, post.user_id, post.status, 1);
    txn.counters().last_post = post.id;
    note_change(txn, model::change_type::post_created, command.caller, post);
    return {.record = std::move(post)};
}

outcome run(transaction& txn, change_post const& action, command const& command) {
    bool damaged = false;
    auto record = find_post(txn, action.id, damaged);
    if (damaged) return reject(problem::internal_error);
    if (!record) return reject_missing(command, missing_post_detail(action.id));
    auto post = std::move(*record);

    auto const tag = [&] { return model::tag_of(model::view_of(post)); };
    if (command.faults.empty())
        if (auto rejection = check_conditions(command, tag)) return std::move(*rejection);
    auto faults = command.faults;
    compare(action.expected,
            {.id = post.id,
             .user_id = post.user_id,
             .created_at = post.created_at,
             .updated_at = post.updated_at,
             .published_at = post.published_at},
            faults);
    if (!faults.empty()) return reject_invalid(std::move(faults));

    auto const old_status = post.status;
    auto const status = action.status.value_or(old_status);
    if (!model::can_become(old_status, status))
        return reject(problem::invalid_state_transition,
                      "A post that is " + std::string(name_of(old_status)) + " cannot become " +
                          std::string(name_of(status)) + ".");
    auto const same = [](auto const& member, auto const& current) {
        return !member || *member == current;
    };
    if (status == old_status && same(action.title, post.title) && same(action.body, post.body))
        return {.record = std::move(post)};
    if (action.title && !is_storable(*action.title)) return reject(problem::internal_error);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    if (action.title) post.title = *action.title;
    if (action.body) post.body = *action.body;
    post.status = status;
    if (status == post_status::published && old_status != status) post.published_at = txn.now();
    if (status == post_status::draft) post.published_at = 0;
    post.updated_at = txn.now();
    encode(post, txn.scratch);
    txn.put(table::posts, id_key(post.id), txn.scratch);
    if (status != old_status) move_status(txn, post, old_status);
    note_change(txn, change_type_of(old_status, status), command.caller, post);
    return {.record = std::move(post)};
}

outcome run(transaction& txn, delete_post const& action, command const& command) {
    bool damaged = false;
    auto const post = find_post(txn, action.id, damaged);
    if (damaged) return reject(problem::internal_error);
    if (!post) return reject_missing(command, missing_post_detail(action.id));
    if (!command.faults.empty()) return reject_invalid(command.faults);
    auto const tag = [&] { return model::tag_of(model::view_of(*post)); };
    if (auto rejection = check_conditions(command, tag)) return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, false)) return reject(*shortage);

    erase_post(txn, post->id, post->user_id, post->status);
    count_post(txn, post->user_id, post->status, -1);
    note_change(txn, model::change_type::post_deleted, command.caller, *post);
    return {};
}

std::size_t bytes_of(create_post const& action) {
    return action.title.size() + action.body.size();
}

std::size_t bytes_of(change_post const& action) {
    return text_bytes(action.title) + text_bytes(action.body);
}

}  // namespace latchkey::domain
