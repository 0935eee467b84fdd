#include "../support.hpp"
#include "domain/keys/key_list.hpp"
#include "domain/usage/usage_lists.hpp"
#include "store/checksum.hpp"
#include "store/environment_state.hpp"

namespace latchkey::domain {
namespace {

class damaged_stores : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());
    snapshot snapshot_{*store_};

    void SetUp() override {
        get_user(one(*store_, new_user("Ann", "ann@example.org")));
        get_user(one(*store_, new_user("Bob", "bob@example.org")));
        for (auto const user : {1, 2, 1}) get_post(one(*store_, new_post(user, "t")));
        get_key(one(*store_, new_key(key_number(1))));
        expect_sound(*store_);
    }
    // Writes past the store, with a valid checksum; an empty value removes the record.
    void write(table table, std::string_view key, std::string_view value) {
        auto& native = store_->native();
        MDB_txn* txn = nullptr;
        ASSERT_EQ(::mdb_txn_begin(native.env, nullptr, 0, &txn), 0);
        auto name = val_of(key);
        if (value.empty())
            ASSERT_EQ(::mdb_del(txn, native.dbi(table), &name, nullptr), 0);
        else
            ASSERT_EQ(put_checked(txn, native.dbi(table), table, key, value, 0), 0);
        ASSERT_EQ(::mdb_txn_commit(txn), 0);
    }
    void expect_damage(std::string_view sentence) {
        auto const sentences = check_consistency(*store_);
        for (auto const& each : sentences)
            if (each.find(sentence) != std::string::npos) return;
        ADD_FAILURE() << "not found: " << sentence << " (" << sentences.size() << " others)";
    }
};

TEST_F(damaged_stores, of_records_are_found_and_survived) {
    write(table::users, id_key(1), "rubbish");
    write(table::posts, id_key(2), "rubbish");
    write(table::index, key_key(1), "rubbish");
    expect_damage("user 1 cannot be read");
    expect_damage("post 2 cannot be read");
    expect_damage("key 1 cannot be read");
    snapshot_.renew();
    EXPECT_FALSE(snapshot_.damaged());
    EXPECT_FALSE(snapshot_.user(1));
    EXPECT_TRUE(snapshot_.damaged());
    snapshot_.renew();
    EXPECT_FALSE(snapshot_.damaged());
    EXPECT_FALSE(snapshot_.post(2));
    EXPECT_TRUE(snapshot_.damaged());
    snapshot_.renew();
    EXPECT_TRUE(snapshot_.post(1));
    EXPECT_FALSE(snapshot_.damaged());
    std::size_t count = 0;
    auto const answer = snapshot_.posts({}, {}, [&](auto const&) { ++count; });
    EXPECT_EQ(count, 2u);
    EXPECT_EQ(answer.total, 3u);
    EXPECT_TRUE(snapshot_.damaged());
    EXPECT_FALSE(snapshot_.key_with_digest(key_number(1).digest));
    snapshot_.reset();

    using base::problem;
    EXPECT_EQ(one(*store_, {.action = change_user{.id = 1, .name = "x"}}).problem,
              problem::internal_error);
    EXPECT_EQ(one(*store_, {.action = delete_user{1}}).problem, problem::internal_error);
    EXPECT_EQ(one(*store_, {.action = change_post{.id = 2}}).problem, problem::internal_error);
    EXPECT_EQ(one(*store_, {.action = delete_post{2}}).problem, problem::internal_error);
    auto command = new_user("x", "x@example.org");
    command.caller = 1;
    EXPECT_EQ(one(*store_, command).problem, problem::internal_error);
    // A user is deleted even if one of their posts cannot be decoded.
    EXPECT_EQ(one(*store_, {.action = delete_user{2}}).problem, problem::none);
    snapshot_.renew();
    EXPECT_EQ(snapshot_.posts({}, {}, [](auto const&) {}).total, 2u);
    EXPECT_FALSE(snapshot_.post(2));
    EXPECT_FALSE(snapshot_.damaged());
}

// Keys of another length are sorted by their bytes and do not mislead look-ups.
TEST_F(damaged_stores, of_keys_are_found_and_survived) {
    using namespace std::string_view_literals;
    write(table::users, "\0\0\0"sv, "short");
    write(table::users, "\0\0\0\0\0\0\0\1x"sv, "long");
    write(table::users, "\xff"sv, "last");
    expect_damage("a user has a key that is no id");
    snapshot_.renew();
    EXPECT_EQ(snapshot_.user(1)->email, "ann@example.org");
    EXPECT_EQ(snapshot_.user(2)->email, "bob@example.org");
    EXPECT_FALSE(snapshot_.user(3));
    snapshot_.reset();
}

// A digest that leads to the record of another key authenticates no key.
TEST_F(damaged_stores, with_a_wrong_digest_give_no_key) {
    write(table::index, digest_key(key_number(2).digest), id_key(1));
    snapshot_.renew();
    EXPECT_FALSE(snapshot_.key_with_digest(key_number(2).digest));
    EXPECT_TRUE(snapshot_.damaged());
    snapshot_.renew();
    EXPECT_TRUE(snapshot_.key_with_digest(key_number(1).digest));
    EXPECT_FALSE(snapshot_.damaged());
    snapshot_.reset();
}

TEST_F(damaged_stores, of_indexes_are_found) {
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

TEST_F(damaged_stores, of_kept_outcomes_are_found) {
    auto command = new_user_once(5);
    auto const created = one(*store_, command);
    get_user(created);
    expect_sound(*store_);
    auto const outcome_key = kept_outcome_key(1, command.idempotency->key);
    auto const suffix = std::string_view(outcome_key).substr(1);
    write(table::index, kept_until_key(created.time + idempotency_ms, suffix), {});
    expect_damage("an outcome under an Idempotency-Key of key 1 would be kept for ever");
    expect_damage("outcomes under Idempotency-Keys: 0 are recorded, 1 are there");
    write(table::index, outcome_key, "rubbish");
    expect_damage("an outcome under an Idempotency-Key of key 1 cannot be read");
    EXPECT_EQ(one(*store_, command).problem, base::problem::internal_error);
    snapshot_.renew();
    EXPECT_EQ(snapshot_.find_outcome(*command.idempotency, 0)->problem,
              base::problem::internal_error);
    EXPECT_TRUE(snapshot_.damaged());
    command.idempotency->lineage = 99;
    EXPECT_EQ(one(*store_, command).problem, base::problem::email_taken);
    expect_damage("an outcome under an Idempotency-Key is of no key");
}

TEST_F(damaged_stores, of_usage_are_found) {
    using model::granularity;
    auto const minute = model::start_of(granularity::minute, base::read_clocks().wall);
    auto const key_of = [&](granularity step, model::id key) {
        return usage_in(step, model::start_of(step, minute)).add(key);
    };
    one(*store_,
        {.action = note_key_uses{{{.key = 1, .minute = minute, .counted = {{3, 0, 0, 0}, 0}}}}});
    expect_sound(*store_);
    std::string usage;
    encode(model::usage{{2, 0, 0, 0}, 0}, usage);
    write(table::index, usage_in(granularity::minute, minute).add(model::id{1}), usage);
    expect_damage("usage of key 1 differs between minute and hour");
    write(table::index, key_of(granularity::day, 1), {});
    expect_damage("usage of key 1 stands by hour and not by day");
    write(table::index, key_of(granularity::day, 99), usage);
    expect_damage("usage of key 99 is of no key");
    write(table::index, key_of(granularity::hour, 1), "rubbish");
    expect_damage("usage of key 1 cannot be read");
    write(table::index, usage_in(granularity::hour, minute + 1).add(model::id{1}), usage);
    expect_damage("an entry of usage has a key of another form");
    snapshot_.renew();
    std::size_t count = 0;
    list_usage(snapshot_, 1, granularity::hour, minute, minute + 1,
               [&](auto, auto const&) { ++count; });
    EXPECT_EQ(count, 1u);
    EXPECT_TRUE(snapshot_.damaged());
}

TEST_F(damaged_stores, of_counts_are_found) {
    std::string bytes;
    store::encode(tally{5, 0, 0}, bytes);
    write(table::index, tally_key(1), bytes);
    expect_damage("user 1 has counts that differ from its posts");
    write(table::index, tally_key(2), {});
    expect_damage("user 2 has posts and no counts");
    write(table::index, tally_key(3), bytes);
    expect_damage("user 3 has counts and no posts");
    encode(counters{.last_user = 1, .users = 5, .posts = {1, 2, 3}, .purges = 1}, bytes);
    write(table::index, key_bytes{tag::counters}, bytes);
    expect_damage("users: 5 are recorded, 2 are there");
    expect_damage("draft: 1 are recorded, 3 are there");
    expect_damage("user 2 is beyond the sequence");
    expect_damage("user 1 is of a time after the last write");
    expect_damage("deleted users to purge: 1 are recorded, 0 are there");
    write(table::index, key_bytes{tag::counters}, "rubbish");
    expect_damage("the record of counts and sequences cannot be read");
    auto const outcomes = apply(*store_, {new_user("x", "x@example.org")});
    EXPECT_FALSE(outcomes);
}

}  // namespace
}  // namespace latchkey::domain
