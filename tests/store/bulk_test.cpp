#include "store/bulk_load.hpp"
#include "support.hpp"

namespace latchkey::store {
namespace {

model::user user(model::id id, std::string email, std::string name = "Ann") {
    model::user made;
    made.id = id, made.name = std::move(name), made.email = std::move(email);
    return made;
}
model::post post(model::id id, model::id of, std::string title = "t") {
    model::post made;
    made.id = id, made.user_id = of, made.title = std::move(title);
    return made;
}

bulk_load begun(environment& store, bulk_load::options how) {
    auto load = bulk_load::begin(store, how);
    if (!load) ADD_FAILURE() << load.error().message;
    return std::move(*load);
}

template <class Record>
std::vector<load_refusal> add(bulk_load& load, std::vector<Record> some, std::uint64_t offset,
                              std::vector<model::id> refused_users = {}) {
    auto made = load.add(std::span<Record>(some), {.offset = offset,
                                                   .line = offset,
                                                   .refused = refused_users.size(),
                                                   .refused_users = refused_users});
    if (!made) ADD_FAILURE() << made.error().message;
    return made ? *made : std::vector<load_refusal>{};
}

std::optional<model::user> user_at(environment& store, model::id id) {
    snapshot seen(store);
    seen.renew();
    auto const found = seen.user(id);
    return found ? std::optional(model::copy_of(*found)) : std::nullopt;
}

std::vector<model::id> posts_of(environment& store, model::id user) {
    snapshot seen(store);
    seen.renew();
    std::vector<model::id> ids;
    seen.posts({.user_id = user, .status = std::nullopt}, {},
               [&](model::post_view const& each) { ids.push_back(each.id); });
    return ids;
}

TEST(bulk_loads, keep_ids_that_are_free_in_any_order) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    auto load = begun(*store, {.identity = 1, .highest_user = 40, .highest_post = 9});
    EXPECT_TRUE(add<model::user>(load, {user(40, "d@e.org"), user(7, "a@e.org")}, 2).empty());
    EXPECT_TRUE(add<model::user>(load, {user(8, "b@e.org"), user(0, "c@e.org")}, 4).empty());
    EXPECT_TRUE(add<model::post>(load, {post(9, 40), post(3, 7), post(0, 7)}, 3).empty());
    ASSERT_TRUE(load.finish());
    for (auto const id : {7, 8, 40, 41}) EXPECT_TRUE(user_at(*store, id)) << id;
    EXPECT_EQ(posts_of(*store, 7), (std::vector<model::id>{3, 10}));
    EXPECT_EQ(posts_of(*store, 40), (std::vector<model::id>{9}));
    EXPECT_EQ(load.users().created, 4u);
    EXPECT_EQ(load.users().moved, 0u);
    // And whoever comes then gets an id that nobody had.
    EXPECT_EQ(made_user(one(*store, new_user("x", "x@e.org"))).id, 42);
    expect_whole(*store);
}

TEST(bulk_loads, move_users_whose_ids_are_taken_and_their_posts_with_them) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    made_user(one(*store, new_user("Old", "old@e.org")));
    made_user(one(*store, new_user("Gone", "gone@e.org")));
    one(*store, {.what = delete_user{2}});
    auto load = begun(*store, {.identity = 1, .highest_user = 3});
    // 1 is there, 2 was somebody's once, 3 is free.
    add<model::user>(load, {user(1, "a@e.org"), user(2, "b@e.org"), user(3, "c@e.org")}, 3);
    EXPECT_EQ(load.users().moved, 2u);
    add<model::post>(load, {post(0, 1), post(0, 2), post(0, 3)}, 3);
    ASSERT_TRUE(load.finish());
    EXPECT_EQ(user_at(*store, 1)->name, "Old");
    EXPECT_FALSE(user_at(*store, 2));
    EXPECT_EQ(user_at(*store, 4)->email, "a@e.org");
    EXPECT_TRUE(posts_of(*store, 1).empty());
    EXPECT_EQ(posts_of(*store, 4), (std::vector<model::id>{1}));
    EXPECT_EQ(posts_of(*store, 5), (std::vector<model::id>{2}));
    EXPECT_EQ(posts_of(*store, 3), (std::vector<model::id>{3}));
    expect_whole(*store);
}

TEST(bulk_loads, refuse_single_records_and_keep_the_rest) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    made_user(one(*store, new_user("Old", "old@e.org")));
    auto load = begun(*store, {.identity = 1, .highest_user = 9});
    auto const wrong = add<model::user>(load,
                                        {user(5, "a@e.org"), user(6, "A@E.org"), user(5, "c@e.org"),
                                         user(1, "OLD@e.org"), user(9, "d@e.org")},
                                        5, {4});
    ASSERT_EQ(wrong.size(), 3u);
    EXPECT_EQ(wrong[0].at, 1u);
    EXPECT_EQ(wrong[0].problem, base::problem::email_taken);
    EXPECT_EQ(wrong[0].fault.at, "/email");
    EXPECT_EQ(wrong[1].at, 2u);
    EXPECT_EQ(wrong[1].fault.at, "/id");
    EXPECT_EQ(wrong[2].at, 3u);
    EXPECT_EQ(load.users().refused, 4u);  // one of them before it came here
    // A post of a user who was refused is not the post of whoever has that id here.
    auto const posts = add<model::post>(load, {post(1, 1), post(2, 5), post(3, 6), post(2, 9)}, 4);
    ASSERT_EQ(posts.size(), 2u);
    EXPECT_EQ(posts[0].fault.code, base::field_code::reference_not_found);
    EXPECT_EQ(posts[1].at, 2u);
    // Without a reserve of ids for posts the second 2 is just another number.
    EXPECT_EQ(load.posts().created + load.posts().refused, 4u);
    ASSERT_TRUE(load.finish());
    EXPECT_TRUE(posts_of(*store, 1).empty());
    expect_whole(*store);
}

TEST(bulk_loads, leave_alone_what_is_there_already) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    auto load = begun(*store, {.identity = 1, .highest_user = 2, .highest_post = 1});
    add<model::user>(load, {user(1, "a@e.org"), user(2, "b@e.org")}, 2);
    add<model::post>(load, {post(1, 2)}, 1);
    ASSERT_TRUE(load.finish());
    auto again = begun(*store, {.identity = 2, .highest_user = 2, .highest_post = 1});
    EXPECT_TRUE(add<model::user>(again, {*user_at(*store, 1), user(2, "b@e.org")}, 2).empty());
    EXPECT_TRUE(add<model::post>(again, {post(1, 2)}, 1).empty());
    EXPECT_EQ(again.users().unchanged, 2u);
    EXPECT_EQ(again.posts().unchanged, 1u);
    EXPECT_EQ(again.users().created + again.posts().created, 0u);
    ASSERT_TRUE(again.finish());
    expect_whole(*store);
}

TEST(bulk_loads, go_on_where_they_were_and_are_done_once) {
    temporary_directory const directory;
    {
        auto const store = open_store(directory.path());
        auto load = begun(*store, {.identity = 1, .highest_user = 3});
        EXPECT_FALSE(load.was_begun_before());
        add<model::user>(load, {user(1, "a@e.org")}, 100);
        // Another of the same load has fallen behind, and must not put anything.
        auto other = begun(*store, {.identity = 1});
        add<model::user>(load, {user(2, "b@e.org")}, 200);
        std::vector<model::user> some{user(0, "z@e.org")};
        EXPECT_FALSE(other.add(std::span<model::user>(some), {.offset = 200}));
    }
    auto const store = open_store(directory.path());
    made_user(one(*store, new_user("x", "x@e.org")));  // meanwhile
    auto load = begun(*store, {.identity = 1, .highest_user = 3});
    EXPECT_TRUE(load.was_begun_before());
    EXPECT_EQ(load.users().offset, 200u);
    EXPECT_EQ(load.users().created, 2u);
    EXPECT_TRUE(add<model::user>(load, {user(3, "c@e.org")}, 300).empty());
    EXPECT_EQ(user_at(*store, 3)->email, "c@e.org");
    EXPECT_EQ(user_at(*store, 4)->email, "x@e.org");
    ASSERT_TRUE(load.finish());
    EXPECT_NE(begun(*store, {.identity = 1}).finished_at(), 0);
    EXPECT_EQ(begun(*store, {.identity = 1, .again = true}).finished_at(), 0);
    expect_whole(*store);
}

TEST(bulk_loads, keep_times_and_make_up_those_that_are_missing) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    auto load = begun(*store, {.identity = 1});
    auto given = user(1, "a@e.org");
    given.created_at = 1000, given.updated_at = 2000;
    auto half = user(2, "b@e.org");
    half.created_at = 1500;
    add<model::user>(load, {given, half, user(3, "c@e.org")}, 3);
    auto published = post(1, 1);
    published.status = model::post_status::published, published.created_at = 1200;
    add<model::post>(load, {published, post(2, 1)}, 2);
    EXPECT_EQ(user_at(*store, 1)->updated_at, 2000);
    EXPECT_EQ(user_at(*store, 2)->updated_at, 1500);
    EXPECT_GT(user_at(*store, 3)->created_at, 1'000'000);
    snapshot seen(*store);
    seen.renew();
    EXPECT_EQ(seen.post(1)->published_at, 1200);
    EXPECT_EQ(seen.post(2)->published_at, 0);
    seen.reset();
    expect_whole(*store);
}

TEST(bulk_loads, stop_before_the_map_is_full_and_leave_a_whole_store) {
    temporary_directory const directory;
    auto const store = open_store(directory.path(), 24 << 20);
    auto load = begun(*store, {.identity = 1});
    std::uint64_t number = 0;
    base::result<std::vector<load_refusal>> made = std::vector<load_refusal>{};
    while (made && number < 100'000) {
        std::vector<model::user> some;
        while (!load.is_full(some.size(), 0))
            some.push_back(
                user(0, "u" + std::to_string(number++) + "@e.org", std::string(200, 'n')));
        made = load.add(std::span<model::user>(some), {.offset = number});
    }
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("full"), std::string::npos) << made.error().message;
    EXPECT_GT(load.users().created, 1000u);
    EXPECT_EQ(one(*store, {.what = delete_user{1}}).problem, base::problem::none);
    expect_whole(*store);
}

TEST(bulk_loads, hold_up_a_server_only_briefly) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    EXPECT_FALSE(store->has_server());
    ASSERT_TRUE(store->claim_for_server());
    EXPECT_TRUE(store->has_server());
    auto load = begun(*store, {.identity = 1});
    std::uint64_t number = 0;
    std::size_t largest = 0;
    for (int i = 0; i < 40; ++i) {
        std::vector<model::user> some;
        while (!load.is_full(some.size(), 0))
            some.push_back(user(0, "u" + std::to_string(number++) + "@e.org"));
        largest = std::max(largest, some.size());
        ASSERT_TRUE(load.add(std::span<model::user>(some), {.offset = number}));
    }
    // 25 ms are far from enough for what a load alone would take at once.
    EXPECT_LT(largest, 50'000u);
    expect_whole(*store);
}

}  // namespace
}  // namespace latchkey::store
