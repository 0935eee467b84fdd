#include "../support.hpp"

namespace latchkey::domain {
namespace {

using base::problem;
using enum model::post_status;

class posts : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());
    snapshot snapshot_{*store_};
    model::id ann_ = get_user(one(*store_, new_user("Ann", "ann@example.org"))).id;
    model::id bob_ = get_user(one(*store_, new_user("Bob", "bob@example.org"))).id;

    model::post add(model::id user, model::post_status status = draft) {
        return get_post(one(*store_, new_post(user, "a title", status, "a body")));
    }
    outcome set(model::id post, model::post_status status) {
        return one(*store_, {.action = change_post{.id = post, .status = status}});
    }
    std::vector<model::id> list(post_filter const& filter, range const& part = {}) {
        std::vector<model::id> ids;
        snapshot_.renew();
        last_ = snapshot_.posts(filter, part,
                                [&](model::post_view const& post) { ids.push_back(post.id); });
        return ids;
    }
    std::uint64_t version() {
        snapshot_.renew();
        return snapshot_.version();
    }
    void TearDown() override {
        snapshot_.reset();
        expect_sound(*store_);
    }
    list_result last_;
};

using ids = std::vector<model::id>;

TEST_F(posts, are_created_and_found) {
    auto const initial = base::read_clocks().wall;
    auto const post = add(ann_);
    EXPECT_EQ(post.id, 1);
    EXPECT_EQ(post.status, draft);
    EXPECT_EQ(post.published_at, 0);
    EXPECT_GE(post.created_at, initial);
    auto const other = add(bob_, published);
    EXPECT_EQ(other.published_at, other.created_at);
    EXPECT_EQ(add(bob_, archived).published_at, 0);
    snapshot_.renew();
    auto const view = snapshot_.post(1);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->title, "a title");
    EXPECT_EQ(view->body, "a body");
    EXPECT_EQ(view->user_id, ann_);
    EXPECT_TRUE(view->plain);
    EXPECT_FALSE(snapshot_.post(4));
    EXPECT_EQ(snapshot_.posts_of(bob_), 2u);
    EXPECT_EQ(snapshot_.posts_of(77), 0u);
}

TEST_F(posts, of_an_unknown_user_are_refused_together_with_other_faults) {
    auto const initial = version();
    auto request = new_post(77, "x");
    auto answer = one(*store_, request);
    ASSERT_EQ(answer.problem, problem::validation_failed);
    ASSERT_EQ(answer.faults.size(), 1u);
    EXPECT_EQ(answer.faults[0].location, "/user_id");
    EXPECT_EQ(answer.faults[0].code, base::field_code::reference_not_found);
    request.faults.push_back({.location = "/title", .code = base::field_code::too_short});
    answer = one(*store_, request);
    ASSERT_EQ(answer.faults.size(), 2u);
    EXPECT_EQ(answer.faults[0].location, "/title");
    command none{.action = create_post{.user_id = {}, .title = "x"}};
    EXPECT_EQ(one(*store_, none).faults.size(), 1u);
    none.faults.push_back({.location = "/user_id", .code = base::field_code::invalid_type});
    EXPECT_EQ(one(*store_, none).faults.size(), 1u);
    EXPECT_EQ(version(), initial);
}

TEST_F(posts, give_at_most_fifty_faults) {
    auto request = new_post(77, "x");
    for (int i = 0; i < 60; ++i) request.faults.push_back({.location = "/x" + std::to_string(i)});
    EXPECT_EQ(one(*store_, request).faults.size(), 50u);
}

TEST_F(posts, go_through_their_statuses) {
    auto const post = add(ann_);
    auto now = get_post(set(post.id, published));
    EXPECT_EQ(now.status, published);
    EXPECT_GE(now.published_at, post.created_at);
    EXPECT_EQ(now.updated_at, now.published_at);
    auto const first_time = now.published_at;
    now = get_post(set(post.id, archived));
    EXPECT_EQ(now.published_at, first_time);
    EXPECT_EQ(set(post.id, published).problem, problem::invalid_state_transition);
    now = get_post(set(post.id, draft));
    EXPECT_EQ(now.published_at, 0);
    now = get_post(set(post.id, archived));
    EXPECT_EQ(now.published_at, 0);
    snapshot_.renew();
    EXPECT_EQ(snapshot_.post(post.id)->status, archived);
}

TEST_F(posts, that_stay_in_their_status_are_not_written) {
    for (auto const status : {draft, published, archived}) {
        auto const post = add(ann_, status);
        auto const initial = version();
        auto const same = get_post(set(post.id, status));
        EXPECT_EQ(same.updated_at, post.updated_at);
        EXPECT_EQ(same.published_at, post.published_at);
        get_post(one(*store_,
                     {.action = change_post{.id = post.id, .title = "a title", .body = "a body"}}));
        EXPECT_EQ(version(), initial);
    }
}

TEST_F(posts, keep_their_time_of_publication_while_their_text_changes) {
    auto const post = add(ann_, published);
    while (base::read_clocks().wall <= post.published_at) continue;
    auto const update = get_post(one(
        *store_,
        {.action = change_post{.id = post.id, .title = "t", .body = "b", .status = published}}));
    EXPECT_EQ(update.published_at, post.published_at);
    EXPECT_GT(update.updated_at, post.published_at);
    EXPECT_EQ(update.title, "t");
    snapshot_.renew();
    EXPECT_EQ(snapshot_.post(post.id)->body, "b");
}

TEST_F(posts, accept_read_only_members_that_are_unchanged) {
    auto const post = add(ann_);
    expected_members members{.id = post.id,
                             .user_id = ann_,
                             .created_at = post.created_at,
                             .updated_at = post.updated_at,
                             .published_at = std::optional<base::wall_ms>()};
    auto const now = get_post(one(
        *store_, {.action = change_post{.id = post.id, .status = published, .expected = members}}));
    members = {.user_id = bob_, .published_at = std::optional<base::wall_ms>()};
    auto const answer =
        one(*store_, {.action = change_post{.id = post.id, .title = "x", .expected = members}});
    ASSERT_EQ(answer.problem, problem::validation_failed);
    ASSERT_EQ(answer.faults.size(), 2u);
    EXPECT_EQ(answer.faults[0].location, "/user_id");
    EXPECT_EQ(answer.faults[0].code, base::field_code::read_only_field);
    EXPECT_EQ(answer.faults[1].location, "/published_at");
    members = {.published_at = now.published_at};
    EXPECT_EQ(
        one(*store_, {.action = change_post{.id = post.id, .title = "x", .expected = members}})
            .problem,
        problem::none);
    // Read-only members (422) come before the transition (409).
    set(post.id, archived);
    members = {.id = 99};
    EXPECT_EQ(one(*store_,
                  {.action = change_post{.id = post.id, .status = published, .expected = members}})
                  .problem,
              problem::validation_failed);
}

TEST_F(posts, that_do_not_exist_are_404_but_422_if_the_body_has_faults) {
    command request{.action = change_post{.id = 9, .title = "x", .expected = {.user_id = 5}}};
    EXPECT_EQ(one(*store_, request).problem, problem::not_found);
    request.faults.push_back({.location = "/title", .code = base::field_code::too_long});
    EXPECT_EQ(one(*store_, request).problem, problem::validation_failed);
    EXPECT_EQ(one(*store_, {.action = delete_post{9}}).problem, problem::not_found);
}

TEST_F(posts, are_deleted_once) {
    auto const post = add(ann_);
    EXPECT_EQ(one(*store_, {.action = delete_post{post.id}}).problem, problem::none);
    EXPECT_EQ(one(*store_, {.action = delete_post{post.id}}).problem, problem::not_found);
    EXPECT_TRUE(list({}).empty());
    EXPECT_EQ(snapshot_.posts_of(ann_), 0u);
    EXPECT_EQ(add(ann_).id, 2);
}

TEST_F(posts, are_listed_by_user_and_status_alone_and_together) {
    // 1 ann draft, 2 bob published, 3 ann published, 4 bob draft, 5 ann archived, 6 ann draft
    add(ann_), add(bob_, published), add(ann_, published), add(bob_), add(ann_, archived),
        add(ann_);
    EXPECT_EQ(list({}), (ids{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(list({.user_id = ann_}), (ids{1, 3, 5, 6}));
    EXPECT_EQ(last_.total, 4u);
    EXPECT_EQ(list({.status = draft}), (ids{1, 4, 6}));
    EXPECT_EQ(last_.total, 3u);
    EXPECT_EQ(list({.user_id = ann_, .status = draft}), (ids{1, 6}));
    EXPECT_EQ(last_.total, 2u);
    EXPECT_EQ(list({.user_id = bob_, .status = archived}), ids{});
    EXPECT_EQ(last_.total, 0u);
    EXPECT_EQ(list({.user_id = 77}), ids{});
    EXPECT_EQ(list({.user_id = ann_}, {.descending = true}), (ids{6, 5, 3, 1}));
    EXPECT_EQ(list({.user_id = ann_, .status = draft}, {.descending = true}), (ids{6, 1}));
    EXPECT_EQ(list({.status = draft}, {.skip = 1, .limit = 1}), ids{4});
    EXPECT_TRUE(last_.has_more);
    EXPECT_EQ(list({.status = draft}, {.after_id = 4, .limit = 1}), ids{6});
    EXPECT_FALSE(last_.has_more);
    EXPECT_EQ(list({.user_id = ann_}, {.after_id = 5, .limit = 1, .descending = true}), ids{3});
    EXPECT_TRUE(last_.has_more);
    EXPECT_EQ(list({.status = archived}, {.after_id = 5}), ids{});
    set(1, published);
    EXPECT_EQ(list({.status = published}), (ids{1, 2, 3}));
    EXPECT_EQ(list({.user_id = ann_, .status = published}), (ids{1, 3}));
    EXPECT_EQ(list({.status = draft}), (ids{4, 6}));
    EXPECT_EQ(last_.total, 2u);
}

TEST_F(posts, with_long_bodies_come_back_whole) {
    std::string const body(model::post_body_bytes_max, 'b');
    auto const post = get_post(one(*store_, new_post(ann_, "long", draft, body)));
    snapshot_.renew();
    EXPECT_EQ(snapshot_.post(post.id)->body, body);
}

}  // namespace
}  // namespace latchkey::domain
