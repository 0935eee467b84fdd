// The cache over a real store.
#include "auth/cache.hpp"

#include <gtest/gtest.h>

#include "../limit/allocations.hpp"
#include "auth/key_form.hpp"
#include "domain/writer.hpp"
#include "temp_store.hpp"

namespace latchkey::auth {
namespace {

using base::problem;

constexpr base::wall_ms today = 1'800'000'000'000;
constexpr base::instant now{.mono = 1'000'000'000'000, .wall = today};

struct cache_test : ::testing::Test {
    temp_store keys;
    domain::snapshot snapshot{keys.store()};
    cache subject;

    void SetUp() override { turn(); }
    void turn() {
        snapshot.renew();
        subject.follow(snapshot);
    }
    problem authenticate(std::string_view text, base::wall_ms wall = today) {
        return subject.authenticate(text, nullptr, snapshot, {.mono = now.mono, .wall = wall})
            .problem;
    }
    problem authenticate_from(std::string_view text, std::string_view client) {
        auto const address = model::address::parse(client).value();
        return subject.authenticate(text, &address, snapshot, now).problem;
    }
};

TEST_F(cache_test, knows_a_key_and_remembers_it) {
    auto const text = keys.add_fresh({.name = "ci"});
    turn();
    for (unsigned i = 0; i < 3; ++i) {
        auto const verdict = subject.authenticate(text, nullptr, snapshot, now);
        EXPECT_EQ(verdict.problem, problem::none);
        ASSERT_TRUE(verdict.caller.has_value());
        EXPECT_EQ(verdict.caller->record().name, "ci");
        EXPECT_EQ(verdict.caller->limits().header,
                  "\"minute\";q=600;w=60, \"hour\";q=20000;w=3600");
        EXPECT_EQ(subject.count().misses, 1u);
        EXPECT_EQ(subject.count().hits, i);
    }
}

// The text of the last key is compared with the next one.
TEST_F(cache_test, rejects_texts_that_nearly_equal_the_last_one) {
    auto const text = keys.add_fresh(), other = keys.add_fresh();
    turn();
    for (bool const forgotten : {false, true}) {
        auto const next = [&] {
            if (forgotten) subject.forget_text();
        };
        for (std::size_t i = 0; i < text.size(); ++i) {
            auto wrong = text;
            wrong[i] = wrong[i] == 'a' ? 'b' : 'a';
            for (int times = 0; times < 3; ++times) EXPECT_EQ(authenticate(text), problem::none);
            next();
            EXPECT_EQ(authenticate(wrong), problem::key_invalid) << i;
            EXPECT_EQ(authenticate(text.substr(0, i)), problem::key_invalid) << i;
            EXPECT_EQ(authenticate(text.substr(0, i)), problem::key_invalid) << i;
            next();
            EXPECT_EQ(authenticate(text.substr(i + 1)), problem::key_invalid) << i;
            EXPECT_EQ(authenticate(text), problem::none);
        }
        auto const id = [&](std::string const& key) {
            return subject.authenticate(key, nullptr, snapshot, now).caller->record().id;
        };
        auto const first = id(text), second = id(other);
        EXPECT_NE(first, second);
        for (auto const& [key, expected] : {std::pair(text, first), std::pair(other, second)})
            for (int times = 0; times < 3; ++times) EXPECT_EQ(id(key), expected);
    }
}

// The cache remembers a digest, not whether the key is known.
TEST_F(cache_test, an_unknown_text_is_looked_up_again) {
    auto const unknown = unknown_key();
    EXPECT_EQ(authenticate(unknown), problem::key_invalid);
    EXPECT_EQ(authenticate(unknown), problem::key_invalid);
    EXPECT_EQ(subject.count().unknown, 2u);
}

TEST_F(cache_test, refuses_an_unknown_key) {
    auto const verdict = subject.authenticate(unknown_key(), nullptr, snapshot, now);
    EXPECT_EQ(verdict.problem, problem::key_invalid);
    EXPECT_FALSE(verdict.caller.has_value());
    EXPECT_EQ(subject.count().unknown, 1u);
}

TEST_F(cache_test, refuses_garbage_without_a_look_up) {
    auto text = keys.add_fresh();
    text.back() = text.back() == 'a' ? 'b' : 'a';
    snapshot.reset();  // a look-up would end the process now
    for (std::string_view const garbage :
         {std::string_view(text), std::string_view(""),
          std::string_view(
              "eyJhbGciOiJIUzI1NiJ9.e30.ZRrHA1JJJW8opsbCGfG_HACGpVUMN_a9IV7pAx_Zmeo")}) {
        EXPECT_EQ(authenticate(garbage), problem::key_invalid);
    }
    EXPECT_EQ(subject.count().malformed, 3u);
    EXPECT_EQ(subject.count().unknown, 0u);
}

TEST_F(cache_test, unknown_keys_evict_nothing) {
    cache small(8);
    std::vector<std::string> texts;
    for (int i = 0; i < 8; ++i) texts.push_back(keys.add_fresh());
    snapshot.renew();
    small.follow(snapshot);
    for (auto const& each : texts) small.authenticate(each, nullptr, snapshot, now);
    for (int i = 0; i < 1000; ++i) small.authenticate(unknown_key(), nullptr, snapshot, now);
    for (auto const& each : texts) small.authenticate(each, nullptr, snapshot, now);
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
    snapshot.renew();
    small.follow(snapshot);
    for (int round = 0; round < 3; ++round)
        for (auto const& [text, name] : all) {
            auto const verdict = small.authenticate(text, nullptr, snapshot, now);
            ASSERT_TRUE(verdict.caller.has_value());
            EXPECT_EQ(verdict.caller->record().name, name);
        }
    EXPECT_EQ(small.count().hits + small.count().misses, 90u);
}

TEST_F(cache_test, a_new_key_is_seen_by_the_next_turn) {
    fresh_key const key("lkey");
    EXPECT_EQ(authenticate(key.text()), problem::key_invalid);
    keys.add(key.text(), {.start = "lkey"});
    EXPECT_EQ(authenticate(key.text()), problem::key_invalid);  // the snapshot is older
    turn();
    EXPECT_EQ(authenticate(key.text()), problem::none);
}

TEST_F(cache_test, other_commits_drop_nothing) {
    auto const text = keys.add_fresh();
    turn();
    authenticate(text);
    for (int i = 0; i < 20; ++i) {
        keys.add_fresh();
        std::vector<domain::command> commands(1);
        commands[0].action = domain::create_user{"Ann", "ann" + std::to_string(i) + "@example.org"};
        ASSERT_TRUE(domain::apply(keys.store(), std::move(commands)).has_value());
        turn();
        EXPECT_EQ(authenticate(text), problem::none);
    }
    EXPECT_EQ(subject.count().misses, 1u);
    EXPECT_EQ(subject.count().evictions, 0u);
}

// A second store with the same commits except for the last stands for the store after a change.
TEST_F(cache_test, drops_exactly_the_keys_that_changed) {
    auto const changing_key = keys.add_fresh({.name = "before"});
    auto const unchanged = keys.add_fresh({.name = "kept"});
    turn();
    authenticate(changing_key);
    authenticate(unchanged);
    temp_store later;
    later.add_fresh();
    later.add_fresh();
    later.add(changing_key, {.name = "after", .start = "lkey"});
    domain::snapshot later_snapshot(later.store());
    later_snapshot.renew();
    ASSERT_NE(later_snapshot.version(), snapshot.version());
    subject.follow(later_snapshot);
    EXPECT_EQ(subject.count().evictions, 1u);
    EXPECT_EQ(subject.authenticate(unchanged, nullptr, later_snapshot, now).problem, problem::none);
    EXPECT_EQ(subject.count().hits, 1u);
    auto const verdict = subject.authenticate(changing_key, nullptr, later_snapshot, now);
    ASSERT_TRUE(verdict.caller.has_value());
    EXPECT_EQ(verdict.caller->record().name, "after");
    EXPECT_EQ(subject.count().misses, 3u);
}

// Every command that changes a key drops that key; recording its last use drops none.
TEST_F(cache_test, each_change_of_a_key_drops_that_key_alone) {
    auto const changing_key =
        keys.add(std::string(40, 'x'), {.name = "changed", .start = "xxxxxxxx"}).id;
    auto const other = keys.add_fresh();
    auto const text = keys.add_fresh();
    auto const id = [&] {
        turn();
        return subject.authenticate(text, nullptr, snapshot, now).caller->record().id;
    }();
    authenticate(other);
    struct {
        char const* name;
        domain::command::any_action kind;
        std::uint64_t drops;
    } const rows[] = {
        {"patch", domain::change_key{.id = id, .name = "new"}, 1},
        {"patch of nothing", domain::change_key{.id = id, .name = "new"}, 0},
        {"last use", domain::note_key_uses{{{id, today}}}, 0},
        {"deactivate", domain::deactivate_key{.id = id}, 1},
        {"again", domain::deactivate_key{.id = id}, 0},
        {"reactivate", domain::reactivate_key{id}, 1},
        {"rotate", domain::rotate_key{.id = id, .digest = digest_of("next"), .overlap_ms = 9000},
         1},
        {"of a key that is not known here", domain::deactivate_key{.id = changing_key}, 0},
    };
    for (auto const& row : rows) {
        authenticate(text);
        authenticate(other);
        auto const initial = subject.count().evictions;
        auto const outcomes = domain::apply(keys.store(), {{.action = row.kind}}).value();
        ASSERT_EQ(outcomes[0].problem, problem::none) << row.name;
        turn();
        EXPECT_EQ(subject.count().evictions - initial, row.drops) << row.name;
    }
}

TEST_F(cache_test, a_principal_outlives_its_cache_entry) {
    auto const text = keys.add_fresh({.name = "before"});
    turn();
    auto const verdict = subject.authenticate(text, nullptr, snapshot, now);
    temp_store other;
    domain::snapshot other_snapshot(other.store());
    other_snapshot.renew();
    subject.follow(other_snapshot);  // its epoch is smaller: no entry is valid
    EXPECT_EQ(subject.count().evictions, 1u);
    EXPECT_EQ(verdict.caller->record().name, "before");
    EXPECT_EQ(subject.authenticate(text, nullptr, other_snapshot, now).problem,
              problem::key_invalid);
}

TEST_F(cache_test, drops_all_after_falling_behind_the_ring) {
    std::vector<std::string> const texts = {keys.add_fresh(), keys.add_fresh(), keys.add_fresh()};
    turn();
    for (auto const& each : texts) authenticate(each);
    for (int i = 0; i < 18; ++i) {
        std::vector<domain::command> commands(64);
        for (auto& each : commands) {
            model::key record{.digest = digest_of(unknown_key()), .name = "a", .start = "lkey"};
            each.action = domain::create_key{std::move(record)};
        }
        ASSERT_TRUE(domain::apply(keys.store(), std::move(commands)).has_value());
    }
    turn();
    EXPECT_EQ(subject.count().evictions, 3u);
    for (auto const& each : texts) EXPECT_EQ(authenticate(each), problem::none);
    EXPECT_EQ(subject.count().misses, 6u);
}

TEST_F(cache_test, states_follow_the_clock_alone) {
    auto const text = keys.add_fresh({.not_before = today, .expires_at = today + 1000});
    turn();
    EXPECT_EQ(authenticate(text, today - 1), problem::key_not_yet_active);
    EXPECT_EQ(authenticate(text, today), problem::none);
    EXPECT_EQ(authenticate(text, today + 999), problem::none);
    EXPECT_EQ(authenticate(text, today + 1000), problem::key_expired);
    EXPECT_EQ(subject.count().misses, 1u);
    EXPECT_TRUE(subject.authenticate(text, nullptr, snapshot, {.wall = 1}).caller.has_value());
}

TEST_F(cache_test, a_deactivated_key_is_known_by_name) {
    auto const text = keys.add_fresh({.expires_at = today - 5,
                                      .deactivated_at = today - 10,
                                      .deactivation_reason = model::deactivation::manual,
                                      .name = "old"});
    turn();
    auto const verdict = subject.authenticate(text, nullptr, snapshot, now);
    EXPECT_EQ(verdict.problem, problem::key_deactivated);
    ASSERT_TRUE(verdict.caller.has_value());
    EXPECT_EQ(verdict.caller->record().name, "old");
}

TEST_F(cache_test, allows_only_listed_clients) {
    auto const text =
        keys.add_fresh({.ip_allowlist = {model::cidr::parse("10.1.0.0/16").value(),
                                         model::cidr::parse("2001:db8::/32").value()}});
    auto const open = keys.add_fresh();
    turn();
    EXPECT_EQ(authenticate_from(text, "10.1.255.1"), problem::none);
    EXPECT_EQ(authenticate_from(text, "::ffff:10.1.0.1"), problem::none);
    EXPECT_EQ(authenticate_from(text, "2001:db8:1::1"), problem::none);
    EXPECT_EQ(authenticate_from(text, "10.2.0.1"), problem::ip_not_allowed);
    EXPECT_EQ(authenticate_from(text, "2001:db9::1"), problem::ip_not_allowed);
    EXPECT_EQ(authenticate(text), problem::ip_not_allowed);  // an unknown address
    EXPECT_EQ(authenticate(open), problem::none);
    EXPECT_TRUE(subject.authenticate(text, nullptr, snapshot, now).caller.has_value());
}

TEST_F(cache_test, the_state_comes_before_the_address) {
    auto const text = keys.add_fresh(
        {.expires_at = today - 1, .ip_allowlist = {model::cidr::parse("10.0.0.0/8").value()}});
    turn();
    EXPECT_EQ(authenticate_from(text, "192.0.2.1"), problem::key_expired);
}

TEST_F(cache_test, accepts_other_forms_once_digests_are_imported) {
    std::string const legacy = "sk_live.0123456789abcdef0123456789";
    EXPECT_EQ(authenticate(legacy), problem::key_invalid);
    EXPECT_EQ(subject.count().malformed, 1u);
    keys.add(legacy);  // a record without its start: imported
    turn();
    EXPECT_EQ(authenticate(legacy), problem::none);
    EXPECT_EQ(authenticate(legacy), problem::none);
    EXPECT_EQ(subject.count().hits, 1u);
    EXPECT_EQ(authenticate(legacy + "0"), problem::key_invalid);
    EXPECT_EQ(subject.count().unknown, 1u);
    EXPECT_EQ(authenticate("short"), problem::key_invalid);
    EXPECT_EQ(authenticate(legacy + " "), problem::key_invalid);
    EXPECT_EQ(subject.count().malformed, 3u);
}

TEST_F(cache_test, a_hit_allocates_nothing) {
    if (!test::counts_allocations()) GTEST_SKIP();
    auto const text = keys.add_fresh({.ip_allowlist = {model::cidr::parse("10.0.0.0/8").value()}});
    auto const client = model::address::parse("10.0.0.1").value();
    turn();
    subject.authenticate(text, &client, snapshot, now);
    auto const initial = test::allocations();
    for (int i = 0; i < 1000; ++i) {
        subject.follow(snapshot);
        auto const verdict = subject.authenticate(text, &client, snapshot, now);
        if (verdict.problem != problem::none) FAIL();
    }
    EXPECT_EQ(test::allocations(), initial);
    EXPECT_EQ(subject.count().hits, 1000u);
}

TEST_F(cache_test, refusals_allocate_nothing) {
    if (!test::counts_allocations()) GTEST_SKIP();
    auto const text = unknown_key();
    authenticate(text);
    auto const initial = test::allocations();
    for (int i = 0; i < 100; ++i) {
        authenticate(text);
        authenticate("garbage");
    }
    EXPECT_EQ(test::allocations(), initial);
}

}  // namespace
}  // namespace latchkey::auth
