#include "../support.hpp"
#include "domain/admin/bulk_load.hpp"

namespace latchkey::domain {
namespace {

model::user user(model::id id, std::string email, std::string name = "Ann") {
    model::user record;
    record.id = id;
    record.name = std::move(name);
    record.email = std::move(email);
    return record;
}
model::post post(model::id id, model::id user_id, std::string title = "t") {
    model::post record;
    record.id = id;
    record.user_id = user_id;
    record.title = std::move(title);
    return record;
}

bulk_load begin_load(environment& store, bulk_load::options options) {
    auto load = bulk_load::begin(store, options);
    if (!load) ADD_FAILURE() << load.error().message;
    return std::move(*load);
}

template <class Record>
std::vector<load_refusal> add(bulk_load& load, std::vector<Record> batch, std::uint64_t offset,
                              std::vector<model::id> refused_users = {}) {
    auto refusals = load.add(std::span<Record>(batch), {.offset = offset,
                                                        .line = offset,
                                                        .refusals = refused_users.size(),
                                                        .refused_users = refused_users});
    if (!refusals) ADD_FAILURE() << refusals.error().message;
    return refusals ? *refusals : std::vector<load_refusal>{};
}

std::optional<model::user> user_at(environment& store, model::id id) {
    domain::snapshot snapshot(store);
    snapshot.renew();
    auto const view = snapshot.user(id);
    return view ? std::optional(model::copy_of(*view)) : std::nullopt;
}

std::vector<model::id> posts_of(environment& store, model::id user) {
    domain::snapshot snapshot(store);
    snapshot.renew();
    std::vector<model::id> ids;
    snapshot.posts({.user_id = user, .status = std::nullopt}, {},
                   [&](model::post_view const& each) { ids.push_back(each.id); });
    return ids;
}

TEST(bulk_loads, keep_ids_that_are_free_in_any_order) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    auto load = begin_load(*store, {.identity = 1, .highest_user = 40, .highest_post = 9});
    EXPECT_TRUE(add<model::user>(load, {user(40, "d@e.org"), user(7, "a@e.org")}, 2).empty());
    EXPECT_TRUE(add<model::user>(load, {user(8, "b@e.org"), user(0, "c@e.org")}, 4).empty());
    EXPECT_TRUE(add<model::post>(load, {post(9, 40), post(3, 7), post(0, 7)}, 3).empty());
    ASSERT_TRUE(load.finish());
    for (auto const id : {7, 8, 40, 41}) EXPECT_TRUE(user_at(*store, id)) << id;
    EXPECT_EQ(posts_of(*store, 7), (std::vector<model::id>{3, 10}));
    EXPECT_EQ(posts_of(*store, 40), (std::vector<model::id>{9}));
    EXPECT_EQ(load.users().created, 4u);
    EXPECT_EQ(load.users().new_ids, 0u);
    // A later user gets an id that was never assigned.
    EXPECT_EQ(get_user(one(*store, new_user("x", "x@e.org"))).id, 42);
    expect_sound(*store);
}

TEST(bulk_loads, move_users_whose_ids_are_taken_and_their_posts_with_them) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    get_user(one(*store, new_user("Old", "old@e.org")));
    get_user(one(*store, new_user("Gone", "gone@e.org")));
    one(*store, {.action = delete_user{2}});
    auto load = begin_load(*store, {.identity = 1, .highest_user = 3});
    // 1 exists, 2 was deleted, 3 is free.
    add<model::user>(load, {user(1, "a@e.org"), user(2, "b@e.org"), user(3, "c@e.org")}, 3);
    EXPECT_EQ(load.users().new_ids, 2u);
    add<model::post>(load, {post(0, 1), post(0, 2), post(0, 3)}, 3);
    ASSERT_TRUE(load.finish());
    EXPECT_EQ(user_at(*store, 1)->name, "Old");
    EXPECT_FALSE(user_at(*store, 2));
    EXPECT_EQ(user_at(*store, 4)->email, "a@e.org");
    EXPECT_TRUE(posts_of(*store, 1).empty());
    EXPECT_EQ(posts_of(*store, 4), (std::vector<model::id>{1}));
    EXPECT_EQ(posts_of(*store, 5), (std::vector<model::id>{2}));
    EXPECT_EQ(posts_of(*store, 3), (std::vector<model::id>{3}));
    expect_sound(*store);
}

TEST(bulk_loads, refuse_single_records_and_keep_the_rest) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    get_user(one(*store, new_user("Old", "old@e.org")));
    auto load = begin_load(*store, {.identity = 1, .highest_user = 9});
    auto const refusals =
        add<model::user>(load,
                         {user(5, "a@e.org"), user(6, "A@E.org"), user(5, "c@e.org"),
                          user(1, "OLD@e.org"), user(9, "d@e.org")},
                         5, {4});
    ASSERT_EQ(refusals.size(), 3u);
    EXPECT_EQ(refusals[0].index, 1u);
    EXPECT_EQ(refusals[0].problem, base::problem::email_taken);
    EXPECT_EQ(refusals[0].fault.location, "/email");
    EXPECT_EQ(refusals[1].index, 2u);
    EXPECT_EQ(refusals[1].fault.location, "/id");
    EXPECT_EQ(refusals[2].index, 3u);
    EXPECT_EQ(load.users().refusals, 4u);  // one of them was refused before it came here
    // A post of a refused user does not become a post of the user with that id in this store.
    auto const posts = add<model::post>(load, {post(1, 1), post(2, 5), post(3, 6), post(2, 9)}, 4);
    ASSERT_EQ(posts.size(), 2u);
    EXPECT_EQ(posts[0].fault.code, base::field_code::reference_not_found);
    EXPECT_EQ(posts[1].index, 2u);
    // Without reserved ids for posts the second 2 is not a duplicate.
    EXPECT_EQ(load.posts().created + load.posts().refusals, 4u);
    ASSERT_TRUE(load.finish());
    EXPECT_TRUE(posts_of(*store, 1).empty());
    expect_sound(*store);
}

TEST(bulk_loads, leave_existing_records_unchanged) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    auto load = begin_load(*store, {.identity = 1, .highest_user = 2, .highest_post = 1});
    add<model::user>(load, {user(1, "a@e.org"), user(2, "b@e.org")}, 2);
    add<model::post>(load, {post(1, 2)}, 1);
    ASSERT_TRUE(load.finish());
    auto again = begin_load(*store, {.identity = 2, .highest_user = 2, .highest_post = 1});
    EXPECT_TRUE(add<model::user>(again, {*user_at(*store, 1), user(2, "b@e.org")}, 2).empty());
    EXPECT_TRUE(add<model::post>(again, {post(1, 2)}, 1).empty());
    EXPECT_EQ(again.users().unchanged, 2u);
    EXPECT_EQ(again.posts().unchanged, 1u);
    EXPECT_EQ(again.users().created + again.posts().created, 0u);
    ASSERT_TRUE(again.finish());
    expect_sound(*store);
}

TEST(bulk_loads, leave_users_alone_who_are_there_without_their_ids) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    auto load = begin_load(*store, {.identity = 1, .highest_user = 2});
    add<model::user>(load, {user(1, "a@e.org"), user(2, "b@e.org")}, 2);
    ASSERT_TRUE(load.finish());
    EXPECT_FALSE(bulk_load::was_begun(*store, 2));
    auto again = begin_load(*store, {.identity = 2, .highest_user = 9});
    EXPECT_TRUE(bulk_load::was_begun(*store, 2));
    // Without an id, with another, twice in one batch; not with another name.
    auto const refusals =
        add<model::user>(again,
                         {user(0, "a@e.org"), user(9, "b@e.org"), user(0, "c@e.org"),
                          user(0, "c@e.org"), user(0, "a@e.org", "Eve")},
                         5);
    ASSERT_EQ(refusals.size(), 1u);
    EXPECT_EQ(refusals[0].index, 4u);
    EXPECT_EQ(refusals[0].problem, base::problem::email_taken);
    EXPECT_EQ(again.users().unchanged, 3u);
    EXPECT_EQ(again.users().created, 1u);
    EXPECT_EQ(again.users().new_ids, 0u);
    EXPECT_TRUE(add<model::post>(again, {post(1, 9)}, 1).empty());
    ASSERT_TRUE(again.finish());
    EXPECT_EQ(posts_of(*store, 2).size(), 1u);  // the post followed to the user who was there
    expect_sound(*store);
}

TEST(bulk_loads, resume_where_they_were_and_finish_once) {
    temporary_directory const directory;
    {
        auto const store = open_store(directory.path());
        auto load = begin_load(*store, {.identity = 1, .highest_user = 3});
        EXPECT_FALSE(load.was_begun_before());
        add<model::user>(load, {user(1, "a@e.org")}, 100);
        // Another process with the same load has fallen behind, and must not write anything.
        auto other = begin_load(*store, {.identity = 1});
        add<model::user>(load, {user(2, "b@e.org")}, 200);
        std::vector<model::user> batch{user(0, "z@e.org")};
        EXPECT_FALSE(other.add(std::span<model::user>(batch), {.offset = 200}));
    }
    auto const store = open_store(directory.path());
    get_user(one(*store, new_user("x", "x@e.org")));  // meanwhile
    auto load = begin_load(*store, {.identity = 1, .highest_user = 3});
    EXPECT_TRUE(load.was_begun_before());
    EXPECT_EQ(load.users().offset, 200u);
    EXPECT_EQ(load.users().created, 2u);
    EXPECT_TRUE(add<model::user>(load, {user(3, "c@e.org")}, 300).empty());
    EXPECT_EQ(user_at(*store, 3)->email, "c@e.org");
    EXPECT_EQ(user_at(*store, 4)->email, "x@e.org");
    ASSERT_TRUE(load.finish());
    EXPECT_NE(begin_load(*store, {.identity = 1}).finished_at(), 0);
    EXPECT_EQ(begin_load(*store, {.identity = 1, .again = true}).finished_at(), 0);
    expect_sound(*store);
}

TEST(bulk_loads, keep_times_and_complete_missing_ones) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    auto load = begin_load(*store, {.identity = 1});
    auto complete = user(1, "a@e.org");
    complete.created_at = 1000;
    complete.updated_at = 2000;
    auto incomplete = user(2, "b@e.org");
    incomplete.created_at = 1500;
    add<model::user>(load, {complete, incomplete, user(3, "c@e.org")}, 3);
    auto published = post(1, 1);
    published.status = model::post_status::published;
    published.created_at = 1200;
    add<model::post>(load, {published, post(2, 1)}, 2);
    EXPECT_EQ(user_at(*store, 1)->updated_at, 2000);
    EXPECT_EQ(user_at(*store, 2)->updated_at, 1500);
    EXPECT_GT(user_at(*store, 3)->created_at, 1'000'000);
    domain::snapshot snapshot(*store);
    snapshot.renew();
    EXPECT_EQ(snapshot.post(1)->published_at, 1200);
    EXPECT_EQ(snapshot.post(2)->published_at, 0);
    snapshot.reset();
    expect_sound(*store);
}

TEST(bulk_loads, stop_before_the_map_is_full_and_leave_a_consistent_store) {
    temporary_directory const directory;
    auto const store = open_store(directory.path(), 24 << 20);
    auto load = begin_load(*store, {.identity = 1});
    std::uint64_t number = 0;
    base::result<std::vector<load_refusal>> result = std::vector<load_refusal>{};
    while (result && number < 100'000) {
        std::vector<model::user> batch;
        while (!load.is_full(batch.size(), 0))
            batch.push_back(
                user(0, "u" + std::to_string(number++) + "@e.org", std::string(200, 'n')));
        result = load.add(std::span<model::user>(batch), {.offset = number});
    }
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("full"), std::string::npos) << result.error().message;
    EXPECT_GT(load.users().created, 1000u);
    EXPECT_EQ(one(*store, {.action = delete_user{1}}).problem, base::problem::none);
    expect_sound(*store);
}

TEST(bulk_loads, hold_up_a_server_only_briefly) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    EXPECT_FALSE(store->has_server());
    ASSERT_TRUE(store->claim_for_server());
    EXPECT_TRUE(store->has_server());
    auto load = begin_load(*store, {.identity = 1});
    std::uint64_t number = 0;
    std::size_t largest = 0;
    for (int i = 0; i < 40; ++i) {
        std::vector<model::user> batch;
        while (!load.is_full(batch.size(), 0))
            batch.push_back(user(0, "u" + std::to_string(number++) + "@e.org"));
        largest = std::max(largest, batch.size());
        ASSERT_TRUE(load.add(std::span<model::user>(batch), {.offset = number}));
    }
    // 25 ms are far too short for a batch of a load without a server.
    EXPECT_LT(largest, 50'000u);
    expect_sound(*store);
}

}  // namespace
}  // namespace latchkey::domain
