// A batch is written in its own order, for later lines depend on earlier ones; users are looked up
// and indexes written in the order of users, so that each is found once and neighbouring entries
// follow each other. New records above the last id are appended to the end of their table.
#include <algorithm>
#include <numeric>

#include "base/limits.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/frame/bulk_write.hpp"
#include "domain/posts/post_record.hpp"

namespace latchkey::domain {
namespace {

using base::field_code;
using base::problem;

class post_writer {
  public:
    post_writer(load_context const& context, posts_in_order const& batch)
        : context_(context),
          transaction_(context.transaction),
          batch_(batch),
          last_(context.transaction.last_id(table::posts)) {}
    void run();

  private:
    void find_users();
    model::id find_user(model::id source_id);
    void write(std::size_t index);
    bool is_unchanged(model::post const& post);
    bool is_duplicate(model::post const& post);
    model::id assign_id(model::post const& post);
    void refuse(std::size_t index, std::string pointer, field_code code, std::string_view detail);
    void write_indexes();

    load_context const& context_;
    transaction& transaction_;
    posts_in_order const& batch_;
    std::vector<model::id> users_;  // of each post, in this store; 0: none
    std::vector<bool> created_;
    model::id last_;  // of the table
};

void post_writer::run() {
    auto const count = batch_.posts.size();
    users_.resize(count);
    created_.resize(count);
    find_users();
    for (std::size_t i = 0; i < count && transaction_.ok(); ++i) write(i);
    write_indexes();
}

void post_writer::find_users() {
    model::id previous = 0, user = 0;
    for (auto const i : batch_.by_user) {
        auto const source_id = batch_.posts[i].user_id;
        if (source_id != std::exchange(previous, source_id)) user = find_user(source_id);
        users_[i] = user;
    }
}

model::id post_writer::find_user(model::id source_id) {
    auto const& users = context_.state.users;
    auto id = source_id;
    if (users.new_ids + users.refusals + users.unchanged != 0)
        if (auto const bytes =
                transaction_.get(table::index, load_moved_key(context_.identity, source_id)))
            id = read_id(*bytes).value_or(0);
    return id != 0 && transaction_.has(table::users, id_key(id)) ? id : 0;
}

void post_writer::write(std::size_t index) {
    auto& post = batch_.posts[index];
    if (users_[index] == 0)
        return refuse(index, "/user_id", field_code::reference_not_found, "names no user");
    post.user_id = users_[index];
    if (is_unchanged(post)) {
        ++context_.state.posts.unchanged;
        return;
    }
    if (is_duplicate(post))
        return refuse(index, "/id", field_code::out_of_range, "is that of a line before this one");
    auto const id = assign_id(post);
    if (post.id != 0 && id != post.id) ++context_.state.posts.new_ids;
    post.id = id;
    complete_times(post, transaction_.now());
    if (post.status == model::post_status::published && post.published_at == 0)
        post.published_at = post.created_at;
    insert_post(transaction_, post, id > last_);
    note_change(transaction_, model::change_type::post_created, 0, post);
    last_ = std::max(last_, id);
    auto& counters = transaction_.counters();
    counters.last_post = std::max(counters.last_post, id);
    created_[index] = true;
    ++context_.state.posts.created;
}

bool post_writer::is_unchanged(model::post const& post) {
    if (post.id == 0 || post.id > last_) return false;
    auto const bytes = transaction_.get(table::posts, id_key(post.id));
    auto const record = bytes ? model::decode_post(post.id, *bytes) : std::nullopt;
    return record && record->user_id == post.user_id && record->title == post.title &&
           record->body == post.body && record->status == post.status &&
           same_if_present(post.published_at, record->published_at) &&
           same_if_present(post.created_at, record->created_at) &&
           same_if_present(post.updated_at, record->updated_at);
}

bool post_writer::is_duplicate(model::post const& post) {
    return context_.state.keeps_post(post.id) && post.id <= last_ &&
           transaction_.has(table::posts, id_key(post.id));
}

model::id post_writer::assign_id(model::post const& post) {
    auto const next = transaction_.counters().last_post + 1;
    return context_.state.keeps_post(post.id) || post.id >= next ? post.id : next;
}

void post_writer::refuse(std::size_t index, std::string pointer, field_code code,
                         std::string_view detail) {
    context_.refuse(index, problem::validation_failed,
                    {.location = std::move(pointer), .code = code, .detail = std::string(detail)});
    ++context_.state.posts.refusals;
}

// The posts of a user together: their entries are neighbours, and the counts are written once.
void post_writer::write_indexes() {
    model::id user = 0;
    tally new_posts{};
    auto const flush_counts = [&] {
        if (sum_of(new_posts) != 0)
            count_new_posts(transaction_, user, std::exchange(new_posts, {}));
    };
    for (auto const i : batch_.by_user) {
        if (!created_[i]) continue;
        auto const& post = batch_.posts[i];
        if (post.user_id != user) flush_counts();
        user = post.user_id;
        index_post(transaction_, post);
        ++new_posts[static_cast<std::size_t>(post.status)];
    }
    flush_counts();
}

}  // namespace

posts_in_order::posts_in_order(std::span<model::post> batch) : posts(batch), by_user(batch.size()) {
    std::iota(by_user.begin(), by_user.end(), 0u);
    std::ranges::sort(by_user, {}, [&](std::uint32_t i) { return std::pair(batch[i].user_id, i); });
}

void write_posts(load_context const& context, posts_in_order const& batch) {
    post_writer(context, batch).run();
}

}  // namespace latchkey::domain
