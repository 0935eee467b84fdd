// What the store as a whole does with posts.
#include <algorithm>

#include "domain/frame/consistency_check.hpp"
#include "domain/frame/time_sweep.hpp"
#include "domain/posts/post_kind.hpp"

namespace latchkey::domain {
namespace {

using base::wall_ms;

bool is_late_post(model::post_view const& post, wall_ms now) {
    return std::max({post.created_at, post.updated_at, post.published_at}) > now;
}

void redate_post(transaction& txn, model::post_view const& view, wall_ms now) {
    auto post = model::copy_of(view);
    clamp(post.created_at, now);
    clamp(post.updated_at, now);
    clamp(post.published_at, now);
    encode(post, txn.scratch);
    txn.put(table::posts, id_key(post.id), txn.scratch);
}

constexpr tag post_tags[] = {tag::post_by_user, tag::post_by_status, tag::post_by_user_status,
                             tag::tally};
constexpr time_sweep post_sweeps[] = {
    sweep_of<table::posts, model::decode_post, is_late_post, redate_post>(
        {"posts", "post", "posts"})};
constexpr change_name post_changes[] = {{model::change_type::post_created, "post.created"},
                                        {model::change_type::post_updated, "post.updated"},
                                        {model::change_type::post_published, "post.published"},
                                        {model::change_type::post_archived, "post.archived"},
                                        {model::change_type::post_deleted, "post.deleted"}};

}  // namespace

constinit kind const post_kind{
    .tags = post_tags, .check = check_posts, .sweeps = post_sweeps, .changes = post_changes};

}  // namespace latchkey::domain
