#include "store/environment_state.hpp"
#include "support.hpp"

namespace latchkey::store {
namespace {

class damages : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());
    snapshot seen_{*store_};

    void SetUp() override {
        made_user(one(*store_, new_user("Ann", "ann@example.org")));
        made_user(one(*store_, new_user("Bob", "bob@example.org")));
        for (auto const user : {1, 2, 1}) made_post(one(*store_, new_post(user, "t")));
        made_key(one(*store_, new_key(key_number(1))));
        expect_whole(*store_);
    }
    // Behind the store's back; an empty value removes.
    void write(table where, std::string_view key, std::string_view value) {
        auto& native = store_->native();
        MDB_txn* txn = nullptr;
        ASSERT_EQ(::mdb_txn_begin(native.env, nullptr, 0, &txn), 0);
        auto name = val_of(key), content = val_of(value);
        if (value.empty())
            ASSERT_EQ(::mdb_del(txn, native.dbi(where), &name, nullptr), 0);
        else
            ASSERT_EQ(::mdb_put(txn, native.dbi(where), &name, &content, 0), 0);
        ASSERT_EQ(::mdb_txn_commit(txn), 0);
    }
    void expect_damage(std::string_view sentence) {
        auto const found = verify(*store_);
        for (auto const& each : found)
            if (each.find(sentence) != std::string::npos) return;
        ADD_FAILURE() << "not found: " << sentence << " (" << found.size() << " others)";
    }
};

TEST_F(damages, of_records_are_found_and_survived) {
    write(table::users, id_key(1), "rubbish");
    write(table::posts, id_key(2), "rubbish");
    write(table::index, key_key(1), "rubbish");
    expect_damage("user 1 cannot be read");
    expect_damage("post 2 cannot be read");
    expect_damage("key 1 cannot be read");
    seen_.renew();
    EXPECT_FALSE(seen_.damaged());
    EXPECT_FALSE(seen_.user(1));
    EXPECT_TRUE(seen_.damaged());
    seen_.renew();
    EXPECT_FALSE(seen_.damaged());
    EXPECT_FALSE(seen_.post(2));
    EXPECT_TRUE(seen_.damaged());
    seen_.renew();
    EXPECT_TRUE(seen_.post(1));
    EXPECT_FALSE(seen_.damaged());
    std::size_t given = 0;
    auto const answer = seen_.posts({}, {}, [&](auto const&) { ++given; });
    EXPECT_EQ(given, 2u);
    EXPECT_EQ(answer.total, 3u);
    EXPECT_TRUE(seen_.damaged());
    EXPECT_FALSE(seen_.key_with_digest(key_number(1).digest));
    seen_.reset();

    using base::problem;
    EXPECT_EQ(one(*store_, {.what = change_user{.id = 1, .name = "x"}}).problem,
              problem::internal_error);
    EXPECT_EQ(one(*store_, {.what = delete_user{1}}).problem, problem::internal_error);
    EXPECT_EQ(one(*store_, {.what = change_post{.id = 2}}).problem, problem::internal_error);
    EXPECT_EQ(one(*store_, {.what = delete_post{2}}).problem, problem::internal_error);
    auto what = new_user("x", "x@example.org");
    what.caller = 1;
    EXPECT_EQ(one(*store_, what).problem, problem::internal_error);
    // A user goes with a post that cannot be read.
    EXPECT_EQ(one(*store_, {.what = delete_user{2}}).problem, problem::none);
    seen_.renew();
    EXPECT_EQ(seen_.posts({}, {}, [](auto const&) {}).total, 2u);
    EXPECT_FALSE(seen_.post(2));
    EXPECT_FALSE(seen_.damaged());
}

// Keys of another length stand where their bytes belong, and nobody loses the way because of them.
TEST_F(damages, of_keys_are_found_and_survived) {
    using namespace std::string_view_literals;
    write(table::users, "\0\0\0"sv, "short");
    write(table::users, "\0\0\0\0\0\0\0\1x"sv, "long");
    write(table::users, "\xff"sv, "last");
    expect_damage("a user has a key that is no id");
    seen_.renew();
    EXPECT_EQ(seen_.user(1)->email, "ann@example.org");
    EXPECT_EQ(seen_.user(2)->email, "bob@example.org");
    EXPECT_FALSE(seen_.user(3));
    seen_.reset();
}

// A digest that leads to another's record is nobody's key.
TEST_F(damages, of_the_index_give_nobody_anothers_key) {
    write(table::index, digest_key(key_number(2).digest), id_key(1));
    seen_.renew();
    EXPECT_FALSE(seen_.key_with_digest(key_number(2).digest));
    EXPECT_TRUE(seen_.damaged());
    seen_.renew();
    EXPECT_TRUE(seen_.key_with_digest(key_number(1).digest));
    EXPECT_FALSE(seen_.damaged());
    seen_.reset();
}

TEST_F(damages, of_indexes_are_found) {
    write(table::index, email_key("ann@example.org"), {});
    expect_damage("user 1 is not found by its e-mail address");
    std::array<char, 8> bytes;
    write(table::index, email_key("nobody@example.org"), id_value(9, bytes));
    expect_damage("an e-mail address of the index is of no user");
    write(table::index, posts_of_user(1).add(model::id{1}), {});
    expect_damage("posts by user: 3 are recorded, 2 are there");
    write(table::index, posts_in(model::post_status::published).add(model::id{2}),
          id_value(2, bytes));
    expect_damage("post 2 is indexed under a status that it does not have");
    write(table::index, posts_of_user_in(2, model::post_status::draft).add(model::id{7}), "x");
    expect_damage("post 7 of user 2 is in the index by user and status only");
    write(table::index, digest_key(key_number(1).digest), {});
    expect_damage("key 1 is not found by its digest");
    write(table::index, digest_key(key_number(2).digest), id_value(9, bytes));
    expect_damage("a digest of the index is of no key");
    write(table::index, key_change_key(1), {});
    expect_damage("the change of keys 1 is not in the ring");
    write(table::index, key_admin_key(77), "x");
    expect_damage("keys that may manage keys: 1 are recorded, 0 are there");
    write(table::index, key_list_key(tag::key_list, {"default", std::nullopt}).add(model::id{1}),
          {});
    expect_damage("key 1 is missing in a list");
    write(table::index, std::string_view("\x7f", 1), "x");
    expect_damage("entries of unknown kinds");
}

TEST_F(damages, of_kept_outcomes_are_found) {
    auto what = new_user_once(5);
    auto const made = one(*store_, what);
    made_user(made);
    expect_whole(*store_);
    auto const at = kept_outcome_key(1, what.once->key);
    auto const place = std::string_view(at).substr(1);
    write(table::index, kept_until_key(made.at + idempotency_ms, place), {});
    expect_damage("an outcome under an Idempotency-Key of key 1 would be kept for ever");
    expect_damage("outcomes under Idempotency-Keys: 0 are recorded, 1 are there");
    write(table::index, at, "rubbish");
    expect_damage("an outcome under an Idempotency-Key of key 1 cannot be read");
    EXPECT_EQ(one(*store_, what).problem, base::problem::internal_error);
    seen_.renew();
    EXPECT_EQ(seen_.recall(*what.once, 0)->problem, base::problem::internal_error);
    EXPECT_TRUE(seen_.damaged());
    what.once->lineage = 99;
    EXPECT_EQ(one(*store_, what).problem, base::problem::email_taken);
    expect_damage("an outcome under an Idempotency-Key is of no key");
}

TEST_F(damages, of_usage_are_found) {
    using model::granularity;
    auto const minute = model::start_of(granularity::minute, base::read_clocks().wall);
    auto const at = [&](granularity by, model::id key) {
        return usage_in(by, model::start_of(by, minute)).add(key);
    };
    one(*store_,
        {.what = note_key_uses{{{.key = 1, .minute = minute, .counted = {{3, 0, 0, 0}, 0}}}}});
    expect_whole(*store_);
    std::string counted;
    encode(model::usage{{2, 0, 0, 0}, 0}, counted);
    write(table::index, usage_in(granularity::minute, minute).add(model::id{1}), counted);
    expect_damage("usage of key 1 differs between minute and hour");
    write(table::index, at(granularity::day, 1), {});
    expect_damage("usage of key 1 stands by hour and not by day");
    write(table::index, at(granularity::day, 99), counted);
    expect_damage("usage of key 99 is of no key");
    write(table::index, at(granularity::hour, 1), "rubbish");
    expect_damage("usage of key 1 cannot be read");
    write(table::index, usage_in(granularity::hour, minute + 1).add(model::id{1}), counted);
    expect_damage("an entry of usage has a key of another form");
    seen_.renew();
    std::size_t given = 0;
    seen_.usage(1, granularity::hour, minute, minute + 1, [&](auto, auto const&) { ++given; });
    EXPECT_EQ(given, 1u);
    EXPECT_TRUE(seen_.damaged());
}

TEST_F(damages, of_counts_are_found) {
    std::string bytes;
    encode(tally{5, 0, 0}, bytes);
    write(table::index, tally_key(1), bytes);
    expect_damage("user 1 has counts that differ from its posts");
    write(table::index, tally_key(2), {});
    expect_damage("user 2 has posts and no counts");
    write(table::index, tally_key(3), bytes);
    expect_damage("user 3 has counts and no posts");
    encode(heads{.last_user = 1, .users = 5, .posts = {1, 2, 3}, .purges = 1}, bytes);
    write(table::index, key_bytes{tag::heads}, bytes);
    expect_damage("users: 5 are recorded, 2 are there");
    expect_damage("draft: 1 are recorded, 3 are there");
    expect_damage("user 2 is beyond the sequence");
    expect_damage("user 1 is of a time after the last write");
    expect_damage("deleted users to purge: 1 are recorded, 0 are there");
    write(table::index, key_bytes{tag::heads}, "rubbish");
    expect_damage("the record of counts and sequences cannot be read");
    auto const outcomes = apply(*store_, {new_user("x", "x@example.org")});
    EXPECT_FALSE(outcomes);
}

}  // namespace
}  // namespace latchkey::store
