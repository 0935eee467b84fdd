#include <algorithm>
#include <numeric>

#include "base/limits.hpp"
#include "store/bulk_write.hpp"

namespace latchkey::store {
namespace {

using base::field_code;
using base::problem;

class post_writer {
  public:
    post_writer(load_context const& to, posts_in_order const& some)
        : to_(to), in_(to.in), some_(some), last_(to.in.last_id(table::posts)) {}
    void run();

  private:
    void find_users();
    model::id user_of(model::id in_source);
    void decide(std::size_t at);
    bool is_there_already(model::post const& post);
    bool is_doubled(model::post const& post);
    model::id free_id(model::post const& post);
    void refuse(std::size_t at, std::string pointer, field_code code, std::string_view why);
    void index();

    load_context const& to_;
    transaction& in_;
    posts_in_order const& some_;
    std::vector<model::id> users_;  // of each post, here; 0: nobody
    std::vector<bool> created_;
    model::id last_;  // in the table
};

void post_writer::run() {
    auto const count = some_.posts.size();
    users_.resize(count);
    created_.resize(count);
    find_users();
    for (std::size_t i = 0; i < count && in_.failure() == 0; ++i) decide(i);
    index();
}

void post_writer::find_users() {
    model::id asked = 0, found = 0;
    for (auto const i : some_.by_user) {
        auto const user = some_.posts[i].user_id;
        if (user != std::exchange(asked, user)) found = user_of(user);
        users_[i] = found;
    }
}

model::id post_writer::user_of(model::id in_source) {
    auto const& users = to_.state.users;
    if (users.moved + users.refused != 0)
        if (auto const bytes = in_.get(table::index, load_moved_key(to_.identity, in_source)))
            in_source = read_id(*bytes).value_or(0);
    return in_source != 0 && in_.has(table::users, id_key(in_source)) ? in_source : 0;
}

void post_writer::decide(std::size_t at) {
    auto& post = some_.posts[at];
    if (users_[at] == 0)
        return refuse(at, "/user_id", field_code::reference_not_found,
                      "there is no user with this id");
    post.user_id = users_[at];
    if (is_there_already(post)) {
        ++to_.state.posts.unchanged;
        return;
    }
    if (is_doubled(post))
        return refuse(at, "/id", field_code::out_of_range,
                      "a line before this one has the same id");
    auto const id = free_id(post);
    if (post.id != 0 && id != post.id) ++to_.state.posts.moved;
    post.id = id;
    complete_times(post, in_.now());
    if (post.status == model::post_status::published && post.published_at == 0)
        post.published_at = post.created_at;
    insert_post(in_, post, id > last_);
    last_ = std::max(last_, id);
    in_.heads().last_post = std::max(in_.heads().last_post, id);
    created_[at] = true;
    ++to_.state.posts.created;
}

bool post_writer::is_there_already(model::post const& post) {
    if (post.id == 0 || post.id > last_) return false;
    auto const bytes = in_.get(table::posts, id_key(post.id));
    auto const has = bytes ? model::decode_post(post.id, *bytes) : std::nullopt;
    return has && has->user_id == post.user_id && has->title == post.title &&
           has->body == post.body && has->status == post.status &&
           same_if_given(post.published_at, has->published_at) &&
           same_if_given(post.created_at, has->created_at) &&
           same_if_given(post.updated_at, has->updated_at);
}

bool post_writer::is_doubled(model::post const& post) {
    return to_.state.keeps_post(post.id) && post.id <= last_ &&
           in_.has(table::posts, id_key(post.id));
}

model::id post_writer::free_id(model::post const& post) {
    auto const next = in_.heads().last_post + 1;
    return to_.state.keeps_post(post.id) || post.id >= next ? post.id : next;
}

void post_writer::refuse(std::size_t at, std::string pointer, field_code code,
                         std::string_view why) {
    to_.refuse(at, problem::validation_failed,
               {.at = std::move(pointer), .code = code, .detail = std::string(why)});
    ++to_.state.posts.refused;
}

// A user's posts together: their entries are neighbours, and its counts are written once.
void post_writer::index() {
    model::id user = 0;
    tally more{};
    auto const count = [&] {
        if (sum_of(more) != 0) count_new_posts(in_, user, std::exchange(more, {}));
    };
    for (auto const i : some_.by_user) {
        if (!created_[i]) continue;
        auto const& post = some_.posts[i];
        if (post.user_id != user) count();
        user = post.user_id;
        index_post(in_, post);
        ++more[static_cast<std::size_t>(post.status)];
    }
    count();
}

}  // namespace

posts_in_order::posts_in_order(std::span<model::post> some) : posts(some), by_user(some.size()) {
    std::iota(by_user.begin(), by_user.end(), 0u);
    std::ranges::sort(by_user, {}, [&](std::uint32_t i) { return std::pair(some[i].user_id, i); });
}

void write_posts(load_context const& to, posts_in_order const& some) {
    post_writer(to, some).run();
}

}  // namespace latchkey::store
