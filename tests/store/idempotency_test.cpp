// Commands under an Idempotency-Key (API §9): carried out once, whatever they come to.
#include <atomic>
#include <chrono>
#include <thread>

#include "store/commands.hpp"
#include "store/kept_outcome.hpp"
#include "support.hpp"

namespace latchkey::store {
namespace {

using base::problem;

std::atomic<base::wall_ms> clock_now{1'700'000'000'000};
constexpr base::wall_ms hour = 3600 * 1000;

class idempotent_commands : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open();
    model::id key_ = made_key(one(*store_, new_key(key_number(1, {"*"})))).id;

    std::unique_ptr<environment> open() {
        clock_now = 1'700'000'000'000;
        return environment::open({.directory = directory_.path(),
                                  .map_bytes = 1u << 30,
                                  .sync = false,
                                  .wall = [] { return clock_now.load(); }})
            .value();
    }
    command under(unsigned key, command what, unsigned request = 0) const {
        what.once = named(key, request);
        return what;
    }
    idempotency named(unsigned key, unsigned request = 0) const {
        return {key_, key_number(key).digest, key_number(request).digest};
    }
    // There, whether its time is over or not.
    bool is_there(unsigned key) {
        snapshot seen(*store_);
        seen.renew();
        return seen.recall(named(key), 0).has_value();
    }
    std::uint64_t users() {
        snapshot seen(*store_);
        seen.renew();
        return seen.users({}, [](auto const&) {}).total;
    }
    void TearDown() override { expect_whole(*store_); }
};

TEST_F(idempotent_commands, are_carried_out_once) {
    auto const what = under(7, new_user("Ann", "ann@example.org"));
    auto const first = one(*store_, what);
    EXPECT_FALSE(first.replayed);
    clock_now += hour;
    for (int i = 0; i < 3; ++i) {
        auto const again = one(*store_, what);
        EXPECT_TRUE(again.replayed);
        EXPECT_EQ(made_user(again).id, made_user(first).id);
        EXPECT_EQ(made_user(again).name, "Ann");
        EXPECT_EQ(made_user(again).created_at, made_user(first).created_at);
        EXPECT_EQ(again.at, first.at);
    }
    EXPECT_EQ(users(), 1u);
}

TEST_F(idempotent_commands, see_each_other_in_a_group) {
    auto const what = under(7, new_user("Ann", "ann@example.org"));
    auto const other = under(7, new_user("Bob", "bob@example.org"), 1);
    auto const answers = apply(*store_, {what, what, other, what}).value();
    EXPECT_FALSE(answers[0].replayed);
    EXPECT_TRUE(answers[1].replayed);
    EXPECT_EQ(made_user(answers[1]).id, made_user(answers[0]).id);
    EXPECT_EQ(answers[2].problem, problem::idempotency_key_reused);
    EXPECT_FALSE(answers[2].replayed);
    EXPECT_TRUE(answers[3].replayed);
    EXPECT_EQ(users(), 1u);
}

TEST_F(idempotent_commands, with_another_request_write_nothing) {
    one(*store_, under(7, new_user("Ann", "ann@example.org")));
    snapshot seen(*store_);
    seen.renew();
    auto const before = seen.version();
    EXPECT_EQ(one(*store_, under(7, new_user("Bob", "bob@example.org"), 1)).problem,
              problem::idempotency_key_reused);
    seen.renew();
    EXPECT_EQ(seen.version(), before);
    EXPECT_EQ(seen.recall(named(7, 1), clock_now)->problem, problem::idempotency_key_reused);
    EXPECT_EQ(seen.recall(named(7), clock_now)->problem, problem::none);
    EXPECT_TRUE(seen.recall(named(7), clock_now)->replayed);
    EXPECT_FALSE(seen.recall(named(8), clock_now));
}

// What is said stays said, even when the reason is gone; and a refusal writes nothing else.
TEST_F(idempotent_commands, that_are_refused_stay_so) {
    made_user(one(*store_, new_user("Ann", "ann@example.org")));
    auto invalid = under(3, new_post(99, "t"));
    invalid.faults = {{base::fault::place::pointer, "/title", base::field_code::too_long, "long"}};
    struct {
        command what;
        problem expected;
    } const rows[] = {
        {under(1, new_user("Other", "ANN@example.org")), problem::email_taken},
        {under(2, {.what = change_user{.id = 2, .name = "x"}}), problem::not_found},
        {invalid, problem::validation_failed},
        {under(4, {.what = refuse{problem::not_found, "nothing"}}), problem::not_found},
    };
    std::vector<outcome> first;
    for (auto const& row : rows) {
        first.push_back(one(*store_, row.what));
        EXPECT_EQ(first.back().problem, row.expected);
        EXPECT_FALSE(first.back().replayed);
    }
    EXPECT_EQ(users(), 1u);
    ASSERT_EQ(one(*store_, {.what = change_user{.id = 1, .email = "a@b.c"}}).problem,
              problem::none);
    made_user(one(*store_, new_user("Bob", "bob@example.org")));
    for (std::size_t i = 0; i < std::size(rows); ++i) {
        auto const again = one(*store_, rows[i].what);
        EXPECT_TRUE(again.replayed);
        EXPECT_EQ(again.problem, rows[i].expected);
        EXPECT_EQ(again.detail, first[i].detail);
        ASSERT_EQ(again.faults.size(), first[i].faults.size());
        for (std::size_t k = 0; k < again.faults.size(); ++k) {
            EXPECT_EQ(again.faults[k].at, first[i].faults[k].at);
            EXPECT_EQ(again.faults[k].code, first[i].faults[k].code);
            EXPECT_EQ(again.faults[k].detail, first[i].faults[k].detail);
        }
    }
    EXPECT_EQ(first[2].faults.size(), 2u);
    EXPECT_EQ(users(), 2u);
}

TEST_F(idempotent_commands, that_were_not_admitted_may_come_again) {
    auto what = under(1, new_user("Ann", "ann@example.org"));
    what.caller = 77;
    EXPECT_EQ(one(*store_, what).problem, problem::key_invalid);
    what.caller = key_;
    what.needs = model::scope::keys_verify;
    made_key(one(*store_, new_key(key_number(2, {"users:write"}))));
    what.caller = 2;
    EXPECT_EQ(one(*store_, what).problem, problem::insufficient_scope);
    auto huge = under(1, new_user(std::string(5000, 'x'), "ann@example.org"));
    EXPECT_EQ(one(*store_, huge).problem, problem::internal_error);
    EXPECT_FALSE(is_there(1));
    what.needs = model::scope::users_write;
    EXPECT_FALSE(one(*store_, what).replayed);
    // A caller that may no longer ask is not told either.
    ASSERT_EQ(one(*store_, {.what = deactivate_key{2}}).problem, problem::none);
    EXPECT_EQ(one(*store_, what).problem, problem::key_deactivated);
}

TEST_F(idempotent_commands, of_different_keys_have_nothing_to_do_with_each_other) {
    made_key(one(*store_, new_key(key_number(2))));
    auto mine = under(1, new_user("Ann", "ann@example.org"));
    auto theirs = under(1, new_user("Bob", "bob@example.org"));
    theirs.once->lineage = 2;
    EXPECT_EQ(made_user(one(*store_, mine)).id, 1);
    EXPECT_EQ(made_user(one(*store_, theirs)).id, 2);
    EXPECT_EQ(made_user(one(*store_, under(2, new_user("Eve", "eve@example.org")))).id, 3);
    EXPECT_TRUE(one(*store_, mine).replayed);
    EXPECT_TRUE(one(*store_, theirs).replayed);
}

TEST_F(idempotent_commands, of_a_rotated_key_are_of_one_line) {
    model::id last = key_;
    for (unsigned i = 10; i < 13; ++i) {
        auto const next = made_key(one(*store_, {.what = rotate_key{.id = last,
                                                                    .digest = key_number(i).digest,
                                                                    .start = "lkeyNEXT",
                                                                    .last4 = "abcd",
                                                                    .overlap_ms = hour}}));
        EXPECT_EQ(next.line(), key_);
        EXPECT_EQ(next.replaces, last);
        last = next.id;
    }
    snapshot seen(*store_);
    seen.renew();
    EXPECT_EQ(seen.key(last)->line(), key_);
    EXPECT_EQ(seen.key(key_)->line(), key_);
}

TEST_F(idempotent_commands, replay_every_kind_of_record) {
    auto const first = [&](unsigned key, command what) {
        auto const made = one(*store_, under(key, what));
        EXPECT_EQ(made.problem, problem::none);
        auto again = one(*store_, under(key, what));
        EXPECT_TRUE(again.replayed);
        EXPECT_EQ(again.record.index(), made.record.index());
        EXPECT_EQ(again.last_used_at, made.last_used_at);
        std::string left, right;
        again.replayed = false;
        encode(kept_outcome{1, {}, made}, left);
        encode(kept_outcome{1, {}, again}, right);
        EXPECT_EQ(left, right);
        return again;
    };
    made_user(first(1, new_user("Zoë \"x\"", "zoe@example.org")));
    auto const body = std::string(model::post_body_bytes_max, '\1');
    EXPECT_EQ(made_post(first(2, new_post(1, "t", model::post_status::published, body))).body,
              body);
    auto record = key_number(9, {"users:*", "events:write:github"});
    for (int i = 0; i < 40; ++i) record.metadata["m" + std::to_string(i)] = std::string(300, 'v');
    EXPECT_EQ(made_key(first(3, new_key(record))).metadata.size(), 40u);
    ASSERT_EQ(one(*store_, {.what = note_key_uses{.uses = {{.key = 2, .last_used = 5}}}}).problem,
              problem::none);
    EXPECT_EQ(first(4, {.what = deactivate_key{2}}).last_used_at, 5);
    first(5, {.what = delete_user{1}});
}

TEST_F(idempotent_commands, are_new_after_a_day) {
    auto const what = under(7, {.what = create_user{"Ann", "ann@example.org"}});
    EXPECT_FALSE(one(*store_, what).replayed);
    clock_now += idempotency_ms - 1;
    EXPECT_TRUE(one(*store_, what).replayed);
    clock_now += 1;
    snapshot seen(*store_);
    seen.renew();
    EXPECT_FALSE(seen.recall(named(7), clock_now));
    seen.reset();
    // Carried out again, and what that came to is kept for another day; so is another request.
    EXPECT_EQ(one(*store_, what).problem, problem::email_taken);
    expect_whole(*store_);
    clock_now += 23 * hour;
    EXPECT_EQ(one(*store_, what).problem, problem::email_taken);
    EXPECT_TRUE(one(*store_, what).replayed);
    clock_now += hour;
    EXPECT_FALSE(one(*store_, under(7, new_user("Bob", "bob@example.org"), 1)).replayed);
}

TEST_F(idempotent_commands, are_forgotten_in_batches) {
    constexpr unsigned many = 700, batch = 100;
    for (unsigned i = 0; i < many;) {
        std::vector<command> group;
        for (; group.size() < 50; ++i) group.push_back(under(i, {.what = delete_user{1'000'000}}));
        ASSERT_TRUE(apply(*store_, std::move(group)));
        ++clock_now;
    }
    auto const still = [&] {
        unsigned count = 0;
        for (unsigned i = 0; i < many; ++i) count += is_there(i);
        return count;
    };
    auto& native = store_->native();
    EXPECT_FALSE(apply_group(native, {}, batch).committed);
    clock_now += 2 * idempotency_ms;
    // Whoever removes nothing, as the command line, leaves them.
    EXPECT_FALSE(apply_group(native, {}, 0).committed);
    EXPECT_EQ(still(), many);
    auto result = apply_group(native, {}, batch);
    EXPECT_TRUE(result.more_expired);
    EXPECT_EQ(still(), many - batch);
    expect_whole(*store_);
    // Beside many commands twice as many go, so that they never pile up.
    std::vector<command> group;
    std::vector<job> jobs;
    std::vector<outcome> answers(batch);
    for (unsigned i = 0; i < batch; ++i)
        group.push_back(under(1000 + i, {.what = delete_user{1'000'000}}));
    for (unsigned i = 0; i < batch; ++i) jobs.push_back({&group[i], &answers[i]});
    EXPECT_EQ(apply_group(native, jobs, batch).done, batch);
    EXPECT_EQ(still(), many - 3 * batch);
    EXPECT_TRUE(is_there(1000));
    int rounds = 0;
    while (apply_group(native, {}, batch).more_expired) ++rounds;
    EXPECT_EQ(rounds, 3);
    EXPECT_EQ(still(), 0u);
    EXPECT_TRUE(is_there(1000));
    EXPECT_FALSE(apply_group(native, {}, batch).committed);
}

TEST_F(idempotent_commands, are_forgotten_by_a_writer_that_has_nothing_else_to_do) {
    for (unsigned i = 0; i < 20; ++i) one(*store_, under(i, {.what = delete_user{1'000'000}}));
    clock_now += idempotency_ms;
    writer through(*store_);
    for (int i = 0; i < 1000 && is_there(19); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (unsigned i = 0; i < 20; ++i) EXPECT_FALSE(is_there(i));
}

TEST_F(idempotent_commands, through_the_writer_from_many_threads) {
    writer through(*store_);
    std::vector<std::thread> all;
    std::atomic<int> fresh{0}, replayed{0}, wrong{0};
    for (unsigned t = 0; t < 4; ++t)
        all.emplace_back([&] {
            for (unsigned i = 0; i < 100; ++i) {
                auto const name = "u" + std::to_string(i) + "@example.org";
                auto const answer = ask(through, under(i, new_user(name, name)));
                ++(answer.replayed ? replayed : fresh);
                auto const* const user = std::get_if<model::user>(&answer.record);
                if (user == nullptr || user->name != name) ++wrong;
            }
        });
    for (auto& thread : all) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(fresh, 100);
    EXPECT_EQ(replayed, 300);
    EXPECT_EQ(users(), 100u);
}

// Deletions and deactivations go on when nothing else does, key or not.
TEST(idempotent_commands_in_a_full_store, are_not_kept) {
    temporary_directory const directory;
    auto const store = open_store(directory.path(), 2 << 20);
    made_key(one(*store, new_key(key_number(1, {"*"}))));
    made_user(one(*store, new_user("Ann", "ann@example.org")));
    std::string const body(20'000, 'b');
    while (one(*store, new_post(1, "t", model::post_status::draft, body)).problem !=
           problem::storage_full)
        continue;
    auto const under = [](unsigned key, command what) {
        what.once = {1, key_number(key).digest, {}};
        return what;
    };
    auto const is_there = [&](unsigned key) {
        snapshot seen(*store);
        seen.renew();
        return seen.recall({1, key_number(key).digest, {}}, 0).has_value();
    };
    EXPECT_EQ(one(*store, under(1, new_user("Bob", "bob@example.org"))).problem,
              problem::storage_full);
    EXPECT_EQ(one(*store, under(2, new_user("Eve", "ann@example.org"))).problem,
              problem::email_taken);
    EXPECT_EQ(one(*store, under(3, {.what = deactivate_key{1}})).problem, problem::none);
    for (unsigned i = 1; i < 4; ++i) EXPECT_FALSE(is_there(i));
    EXPECT_EQ(one(*store, under(3, {.what = deactivate_key{1}})).problem, problem::none);
    expect_whole(*store);
}

TEST(kept_outcomes, that_were_cut_or_changed_are_refused) {
    outcome answer;
    answer.problem = problem::validation_failed;
    answer.detail = "why";
    answer.faults = {{base::fault::place::pointer, std::string(70'000, 'n'),
                      base::field_code::unknown_field, "is not known"},
                     {base::fault::place::header, "If-Match", base::field_code::required, ""}};
    answer.record = model::user{3, "Ann", "ann@example.org", 1, 2};
    std::string bytes;
    encode(kept_outcome{77, key_number(4).digest, answer}, bytes);
    auto const whole = decode_kept_outcome(bytes);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->until, 77);
    EXPECT_EQ(whole->request, key_number(4).digest);
    EXPECT_EQ(whole->answer.faults.at(0).at.size(), 70'000u);
    EXPECT_EQ(whole->answer.faults.at(1).where, base::fault::place::header);
    EXPECT_FALSE(decode_kept_outcome(bytes + "x"));
    for (std::size_t size = 0; size < bytes.size(); size += size < 200 ? 1 : 97)
        EXPECT_FALSE(decode_kept_outcome(std::string_view(bytes).substr(0, size))) << size;
    auto changed = bytes;
    changed[0] = 2;
    EXPECT_FALSE(decode_kept_outcome(changed));
    for (std::size_t at = 0; at < 200; ++at)
        for (int const value : {0, 1, 127, 255}) {
            changed = bytes;
            changed[at] = static_cast<char>(value);
            decode_kept_outcome(changed);  // never anything worse than a refusal
        }
}

}  // namespace
}  // namespace latchkey::store
