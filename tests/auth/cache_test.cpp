// The cache over a real store.
#include "auth/cache.hpp"

#include <gtest/gtest.h>

#include "../limit/allocations.hpp"
#include "auth/key_form.hpp"
#include "shelf.hpp"
#include "store/writer.hpp"

namespace latchkey::auth {
namespace {

using base::problem;

constexpr base::wall_ms today = 1'800'000'000'000;
constexpr base::instant now{.mono = 1'000'000'000'000, .wall = today};

struct cache_test : ::testing::Test {
    shelf keys;
    store::snapshot seen{keys.store()};
    cache known;

    void SetUp() override { turn(); }
    void turn() {
        seen.renew();
        known.follow(seen);
    }
    problem ask(std::string_view text, base::wall_ms wall = today) {
        return known.authenticate(text, nullptr, seen, {.mono = now.mono, .wall = wall}).problem;
    }
    problem ask_from(std::string_view text, std::string_view client) {
        auto const address = model::address::parse(client).value();
        return known.authenticate(text, &address, seen, now).problem;
    }
};

TEST_F(cache_test, knows_a_key_and_remembers_it) {
    auto const text = keys.add_fresh({.name = "ci"});
    turn();
    for (unsigned i = 0; i < 3; ++i) {
        auto const given = known.authenticate(text, nullptr, seen, now);
        EXPECT_EQ(given.problem, problem::none);
        ASSERT_TRUE(given.who.has_value());
        EXPECT_EQ(given.who->record().name, "ci");
        EXPECT_EQ(given.who->limits().header, "\"minute\";q=600;w=60, \"hour\";q=20000;w=3600");
        EXPECT_EQ(known.count().misses, 1u);
        EXPECT_EQ(known.count().hits, i);
    }
}

// The text of the key that was shown last is compared with the next one.
TEST_F(cache_test, tells_a_text_that_is_nearly_the_last_one_from_it) {
    auto const text = keys.add_fresh(), other = keys.add_fresh();
    turn();
    for (bool const forgotten : {false, true}) {
        auto const next = [&] {
            if (forgotten) known.forget_text();
        };
        for (std::size_t i = 0; i < text.size(); ++i) {
            auto wrong = text;
            wrong[i] = wrong[i] == 'a' ? 'b' : 'a';
            for (int times = 0; times < 3; ++times) EXPECT_EQ(ask(text), problem::none);
            next();
            EXPECT_EQ(ask(wrong), problem::key_invalid) << i;
            EXPECT_EQ(ask(text.substr(0, i)), problem::key_invalid) << i;
            EXPECT_EQ(ask(text.substr(0, i)), problem::key_invalid) << i;
            next();
            EXPECT_EQ(ask(text.substr(i + 1)), problem::key_invalid) << i;
            EXPECT_EQ(ask(text), problem::none);
        }
        auto const id = [&](std::string const& of) {
            return known.authenticate(of, nullptr, seen, now).who->record().id;
        };
        auto const first = id(text), second = id(other);
        EXPECT_NE(first, second);
        for (auto const& [of, is] : {std::pair(text, first), std::pair(other, second)})
            for (int times = 0; times < 3; ++times) EXPECT_EQ(id(of), is);
    }
}

// What is remembered is a digest, never whether the key is known.
TEST_F(cache_test, a_text_that_was_shown_last_is_looked_up_again) {
    auto const unknown = unknown_key();
    EXPECT_EQ(ask(unknown), problem::key_invalid);
    EXPECT_EQ(ask(unknown), problem::key_invalid);
    EXPECT_EQ(known.count().unknown, 2u);
}

TEST_F(cache_test, refuses_what_nobody_was_given) {
    auto const given = known.authenticate(unknown_key(), nullptr, seen, now);
    EXPECT_EQ(given.problem, problem::key_invalid);
    EXPECT_FALSE(given.who.has_value());
    EXPECT_EQ(known.count().unknown, 1u);
}

TEST_F(cache_test, refuses_garbage_without_a_look_up) {
    auto text = keys.add_fresh();
    text.back() = text.back() == 'a' ? 'b' : 'a';
    seen.reset();  // a look-up would end the process now
    for (std::string_view const garbage :
         {std::string_view(text), std::string_view(""),
          std::string_view(
              "eyJhbGciOiJIUzI1NiJ9.e30.ZRrHA1JJJW8opsbCGfG_HACGpVUMN_a9IV7pAx_Zmeo")}) {
        EXPECT_EQ(ask(garbage), problem::key_invalid);
    }
    EXPECT_EQ(known.count().malformed, 3u);
    EXPECT_EQ(known.count().unknown, 0u);
}

TEST_F(cache_test, unknown_keys_push_out_nobody) {
    cache small(8);
    std::vector<std::string> texts;
    for (int i = 0; i < 8; ++i) texts.push_back(keys.add_fresh());
    seen.renew();
    small.follow(seen);
    for (auto const& each : texts) small.authenticate(each, nullptr, seen, now);
    for (int i = 0; i < 1000; ++i) small.authenticate(unknown_key(), nullptr, seen, now);
    for (auto const& each : texts) small.authenticate(each, nullptr, seen, now);
    EXPECT_EQ(small.count().misses, 8u);
    EXPECT_EQ(small.count().unknown, 1000u);
    EXPECT_EQ(small.count().hits, 8u);
}

TEST_F(cache_test, is_right_with_more_keys_than_entries) {
    cache small(8);
    std::vector<std::pair<std::string, std::string>> all;
    for (int i = 0; i < 30; ++i) {
        auto const name = "key " + std::to_string(i);
        all.emplace_back(keys.add_fresh({.name = name}), name);
    }
    seen.renew();
    small.follow(seen);
    for (int round = 0; round < 3; ++round)
        for (auto const& [text, name] : all) {
            auto const given = small.authenticate(text, nullptr, seen, now);
            ASSERT_TRUE(given.who.has_value());
            EXPECT_EQ(given.who->record().name, name);
        }
    EXPECT_EQ(small.count().hits + small.count().misses, 90u);
}

TEST_F(cache_test, a_new_key_is_seen_by_the_next_turn) {
    fresh_key const made("lkey");
    EXPECT_EQ(ask(made.text()), problem::key_invalid);
    keys.add(made.text(), {.start = "lkey"});
    EXPECT_EQ(ask(made.text()), problem::key_invalid);  // the snapshot is older
    turn();
    EXPECT_EQ(ask(made.text()), problem::none);
}

TEST_F(cache_test, other_commits_drop_nothing) {
    auto const text = keys.add_fresh();
    turn();
    ask(text);
    for (int i = 0; i < 20; ++i) {
        keys.add_fresh();
        std::vector<store::command> commands(1);
        commands[0].what = store::create_user{"Ann", "ann" + std::to_string(i) + "@example.org"};
        ASSERT_TRUE(store::apply(keys.store(), std::move(commands)).has_value());
        turn();
        EXPECT_EQ(ask(text), problem::none);
    }
    EXPECT_EQ(known.count().misses, 1u);
    EXPECT_EQ(known.count().dropped, 0u);
}

// There are only commands that create keys, so a change of one is played by a second store, in
// which the same commits have happened but the last.
TEST_F(cache_test, drops_exactly_the_keys_that_changed) {
    auto const changed = keys.add_fresh({.name = "before"});
    auto const kept = keys.add_fresh({.name = "kept"});
    turn();
    ask(changed);
    ask(kept);
    shelf later;
    later.add_fresh();
    later.add_fresh();
    later.add(changed, {.name = "after", .start = "lkey"});
    store::snapshot after(later.store());
    after.renew();
    ASSERT_NE(after.version(), seen.version());
    known.follow(after);
    EXPECT_EQ(known.count().dropped, 1u);
    EXPECT_EQ(known.authenticate(kept, nullptr, after, now).problem, problem::none);
    EXPECT_EQ(known.count().hits, 1u);
    auto const given = known.authenticate(changed, nullptr, after, now);
    ASSERT_TRUE(given.who.has_value());
    EXPECT_EQ(given.who->record().name, "after");
    EXPECT_EQ(known.count().misses, 3u);
}

// Every command that changes a key drops that one, and noting its last use drops none.
TEST_F(cache_test, each_change_of_a_key_drops_that_key_alone) {
    auto const changed =
        keys.add(std::string(40, 'x'), {.name = "changed", .start = "xxxxxxxx"}).id;
    auto const other = keys.add_fresh();
    auto const text = keys.add_fresh();
    auto const id = [&] {
        turn();
        return known.authenticate(text, nullptr, seen, now).who->record().id;
    }();
    ask(other);
    struct {
        char const* what;
        store::command::kind kind;
        std::uint64_t drops;
    } const rows[] = {
        {"patch", store::change_key{.id = id, .name = "new"}, 1},
        {"patch of nothing", store::change_key{.id = id, .name = "new"}, 0},
        {"last use", store::note_key_uses{{{id, today}}}, 0},
        {"deactivate", store::deactivate_key{.id = id}, 1},
        {"again", store::deactivate_key{.id = id}, 0},
        {"reactivate", store::reactivate_key{id}, 1},
        {"rotate", store::rotate_key{.id = id, .digest = digest_of("next"), .overlap_ms = 9000}, 1},
        {"of a key that is not known here", store::deactivate_key{.id = changed}, 0},
    };
    for (auto const& row : rows) {
        ask(text), ask(other);
        auto const before = known.count().dropped;
        auto const done = store::apply(keys.store(), {{.what = row.kind}}).value();
        ASSERT_EQ(done[0].problem, problem::none) << row.what;
        turn();
        EXPECT_EQ(known.count().dropped - before, row.drops) << row.what;
    }
}

TEST_F(cache_test, a_principal_outlives_the_drop_of_its_key) {
    auto const text = keys.add_fresh({.name = "before"});
    turn();
    auto const given = known.authenticate(text, nullptr, seen, now);
    shelf other;
    store::snapshot elsewhere(other.store());
    elsewhere.renew();
    known.follow(elsewhere);  // its epoch is an earlier one: nothing that is known holds
    EXPECT_EQ(known.count().dropped, 1u);
    EXPECT_EQ(given.who->record().name, "before");
    EXPECT_EQ(known.authenticate(text, nullptr, elsewhere, now).problem, problem::key_invalid);
}

TEST_F(cache_test, drops_all_when_it_fell_behind) {
    std::vector<std::string> const texts = {keys.add_fresh(), keys.add_fresh(), keys.add_fresh()};
    turn();
    for (auto const& each : texts) ask(each);
    for (int i = 0; i < 18; ++i) {
        std::vector<store::command> commands(64);
        for (auto& each : commands) {
            model::key record{.digest = digest_of(unknown_key()), .name = "a", .start = "lkey"};
            each.what = store::create_key{std::move(record)};
        }
        ASSERT_TRUE(store::apply(keys.store(), std::move(commands)).has_value());
    }
    turn();
    EXPECT_EQ(known.count().dropped, 3u);
    for (auto const& each : texts) EXPECT_EQ(ask(each), problem::none);
    EXPECT_EQ(known.count().misses, 6u);
}

TEST_F(cache_test, states_follow_the_clock_alone) {
    auto const text = keys.add_fresh({.not_before = today, .expires_at = today + 1000});
    turn();
    EXPECT_EQ(ask(text, today - 1), problem::key_not_yet_active);
    EXPECT_EQ(ask(text, today), problem::none);
    EXPECT_EQ(ask(text, today + 999), problem::none);
    EXPECT_EQ(ask(text, today + 1000), problem::key_expired);
    EXPECT_EQ(known.count().misses, 1u);
    EXPECT_TRUE(known.authenticate(text, nullptr, seen, {.wall = 1}).who.has_value());
}

TEST_F(cache_test, a_deactivated_key_is_known_by_name) {
    auto const text = keys.add_fresh({.expires_at = today - 5,
                                      .deactivated_at = today - 10,
                                      .deactivation_reason = model::deactivation::manual,
                                      .name = "old"});
    turn();
    auto const given = known.authenticate(text, nullptr, seen, now);
    EXPECT_EQ(given.problem, problem::key_deactivated);
    ASSERT_TRUE(given.who.has_value());
    EXPECT_EQ(given.who->record().name, "old");
}

TEST_F(cache_test, allows_only_listed_clients) {
    auto const text =
        keys.add_fresh({.ip_allowlist = {model::cidr::parse("10.1.0.0/16").value(),
                                         model::cidr::parse("2001:db8::/32").value()}});
    auto const open = keys.add_fresh();
    turn();
    EXPECT_EQ(ask_from(text, "10.1.255.1"), problem::none);
    EXPECT_EQ(ask_from(text, "::ffff:10.1.0.1"), problem::none);
    EXPECT_EQ(ask_from(text, "2001:db8:1::1"), problem::none);
    EXPECT_EQ(ask_from(text, "10.2.0.1"), problem::ip_not_allowed);
    EXPECT_EQ(ask_from(text, "2001:db9::1"), problem::ip_not_allowed);
    EXPECT_EQ(ask(text), problem::ip_not_allowed);  // an unknown address
    EXPECT_EQ(ask(open), problem::none);
    EXPECT_TRUE(known.authenticate(text, nullptr, seen, now).who.has_value());
}

TEST_F(cache_test, the_state_comes_before_the_address) {
    auto const text = keys.add_fresh(
        {.expires_at = today - 1, .ip_allowlist = {model::cidr::parse("10.0.0.0/8").value()}});
    turn();
    EXPECT_EQ(ask_from(text, "192.0.2.1"), problem::key_expired);
}

TEST_F(cache_test, any_text_may_be_an_imported_one) {
    std::string const legacy = "sk_live.0123456789abcdef0123456789";
    EXPECT_EQ(ask(legacy), problem::key_invalid);
    EXPECT_EQ(known.count().malformed, 1u);
    keys.add(legacy);  // a record without its start: imported
    turn();
    EXPECT_EQ(ask(legacy), problem::none);
    EXPECT_EQ(ask(legacy), problem::none);
    EXPECT_EQ(known.count().hits, 1u);
    EXPECT_EQ(ask(legacy + "0"), problem::key_invalid);
    EXPECT_EQ(known.count().unknown, 1u);
    EXPECT_EQ(ask("short"), problem::key_invalid);
    EXPECT_EQ(ask(legacy + " "), problem::key_invalid);
    EXPECT_EQ(known.count().malformed, 3u);
}

TEST_F(cache_test, a_hit_allocates_nothing) {
    if (!test::counts_allocations()) GTEST_SKIP();
    auto const text = keys.add_fresh({.ip_allowlist = {model::cidr::parse("10.0.0.0/8").value()}});
    auto const client = model::address::parse("10.0.0.1").value();
    turn();
    known.authenticate(text, &client, seen, now);
    auto const before = test::allocations();
    for (int i = 0; i < 1000; ++i) {
        known.follow(seen);
        auto const given = known.authenticate(text, &client, seen, now);
        if (given.problem != problem::none) FAIL();
    }
    EXPECT_EQ(test::allocations(), before);
    EXPECT_EQ(known.count().hits, 1000u);
}

TEST_F(cache_test, refusals_allocate_nothing) {
    if (!test::counts_allocations()) GTEST_SKIP();
    auto const text = unknown_key();
    ask(text);
    auto const before = test::allocations();
    for (int i = 0; i < 100; ++i) {
        ask(text);
        ask("garbage");
    }
    EXPECT_EQ(test::allocations(), before);
}

}  // namespace
}  // namespace latchkey::auth
