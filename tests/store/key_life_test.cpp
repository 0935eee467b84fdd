// The life of keys: who may do what to which, states by a clock that the test moves, rotation.
#include <algorithm>

#include "support.hpp"

namespace latchkey::store {
namespace {

using base::problem;
using model::deactivation;
using model::key_state;
using model::scope;

std::int64_t test_clock = 0;

class key_life : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_;
    unsigned last_ = 0;

    void SetUp() override {
        test_clock = 1'800'000'000'000;
        reopen();
    }
    void TearDown() override {
        expect_whole(*store_);
        EXPECT_EQ(verify_audit(*store_).wrong, std::vector<std::string>{});
    }
    void reopen() {
        store_.reset();
        store_ = environment::open({.directory = directory_.path(),
                                    .map_bytes = 1u << 30,
                                    .sync = false,
                                    .wall = [] { return test_clock; }})
                     .value();
    }

    outcome ask(command::kind what, model::id caller = 0,
                std::optional<scope> needs = scope::keys_write) {
        return one(*store_, {.what = std::move(what), .caller = caller, .needs = needs});
    }
    model::key record(std::initializer_list<std::string_view> scopes) {
        return key_number(++last_, scopes);
    }
    model::id add(model::key made) { return made_key(ask(create_key{std::move(made)})).id; }
    model::id add(std::initializer_list<std::string_view> scopes) { return add(record(scopes)); }
    model::key get(model::id id) {
        snapshot seen(*store_);
        seen.renew();
        return seen.key(id).value_or(model::key{});
    }
    key_state state(model::id id) { return get(id).state_at(test_clock); }
    rotate_key rotation(model::id id, std::int64_t overlap_ms) {
        auto const made = key_number(++last_);
        return {.id = id,
                .digest = made.digest,
                .start = made.start,
                .last4 = made.last4,
                .overlap_ms = overlap_ms};
    }
};

TEST_F(key_life, changes_what_a_patch_names_and_nothing_else) {
    auto const id = add({"users:read"});
    auto const before = get(id);
    auto const after = made_key(ask(change_key{.id = id,
                                               .name = "new",
                                               .environment = model::environment::production,
                                               .expires_at = test_clock + 1000,
                                               .metadata = {{"team", "a"}, {"gone", {}}}}));
    EXPECT_EQ(after.name, "new");
    EXPECT_EQ(after.environment, model::environment::production);
    EXPECT_EQ(after.expires_at, test_clock + 1000);
    EXPECT_EQ(after.metadata, (std::map<std::string, std::string>{{"team", "a"}}));
    EXPECT_EQ(after.scopes, before.scopes);
    EXPECT_EQ(after.created_at, before.created_at);
    EXPECT_EQ(get(id).name, "new");
}

TEST_F(key_life, keeps_the_slots_of_limits_by_name) {
    auto const id = add({"users:read"});
    auto const after = made_key(
        ask(change_key{.id = id, .rate_limits = {{{"day", 5, 86400}, {"hour", 7, 3600}}}}));
    EXPECT_EQ(after.limit_slots, (std::vector<std::uint8_t>{2, 1}));
    auto const again = made_key(
        ask(change_key{.id = id, .rate_limits = {{{"hour", 7, 3600}, {"minute", 1, 60}}}}));
    EXPECT_EQ(again.limit_slots, (std::vector<std::uint8_t>{1, 0}));
}

TEST_F(key_life, refuses_what_cannot_be_changed_all_at_once) {
    auto const id = add({"users:read"});
    auto const answer = ask(change_key{.id = id,
                                       .expires_at = test_clock - 1,
                                       .expected = {{"id", std::int64_t{id}},
                                                    {"project", "other"},
                                                    {"state", "active"},
                                                    {"replaces", std::int64_t{3}}}});
    EXPECT_EQ(answer.problem, problem::validation_failed);
    std::vector<std::string> at;
    for (auto const& fault : answer.faults) at.push_back(fault.at);
    EXPECT_EQ(at, (std::vector<std::string>{"/project", "/replaces", "/expires_at"}));
}

TEST_F(key_life, passes_through_its_states_by_the_clock) {
    auto made = record({"users:read"});
    made.not_before = test_clock + 100;
    made.expires_at = test_clock + 200;
    auto const id = add(made);
    EXPECT_EQ(state(id), key_state::scheduled);
    test_clock += 100;
    EXPECT_EQ(state(id), key_state::active);
    test_clock += 100;
    EXPECT_EQ(state(id), key_state::expired);
    ask(change_key{.id = id, .expires_at = test_clock + 50});
    EXPECT_EQ(state(id), key_state::active);
    ask(deactivate_key{.id = id});
    test_clock += 50;
    EXPECT_EQ(state(id), key_state::deactivated);
}

TEST_F(key_life, comes_back_unless_it_was_rotated_or_compromised) {
    auto const id = add({"users:read"});
    EXPECT_EQ(made_key(ask(reactivate_key{id})).id, id);
    auto const off = made_key(ask(deactivate_key{.id = id}));
    EXPECT_EQ(off.deactivation_reason, deactivation::manual);
    test_clock += 5;
    EXPECT_EQ(made_key(ask(deactivate_key{.id = id})).deactivated_at, off.deactivated_at);
    EXPECT_EQ(made_key(ask(reactivate_key{id})).deactivated_at, 0);
    EXPECT_EQ(state(id), key_state::active);
    ask(deactivate_key{.id = id});
    auto const worse = made_key(ask(deactivate_key{id, deactivation::compromised}));
    EXPECT_EQ(worse.deactivation_reason, deactivation::compromised);
    ask(deactivate_key{.id = id});
    EXPECT_EQ(get(id).deactivation_reason, deactivation::compromised);
    EXPECT_EQ(ask(reactivate_key{id}).problem, problem::key_not_reactivatable);
}

TEST_F(key_life, rotates_with_an_overlap_across_a_restart) {
    auto made = record({"users:read", "posts:*"});
    made.expires_at = test_clock + 10'000'000;
    made.metadata = {{"a", "b"}};
    auto const old = add(made);
    test_clock += 1'000'000;
    auto const next = made_key(ask(rotation(old, 60'000)));
    EXPECT_EQ(next.replaces, old);
    EXPECT_EQ(next.scopes, made.scopes);
    EXPECT_EQ(next.metadata, made.metadata);
    EXPECT_EQ(next.expires_at, test_clock + 10'000'000);
    EXPECT_EQ(get(old).replaced_by, next.id);
    EXPECT_EQ(get(old).rotation_ends_at, test_clock + 60'000);
    EXPECT_EQ(ask(rotation(old, 1)).problem, problem::rotation_in_progress);
    reopen();
    test_clock += 59'999;
    EXPECT_EQ(state(old), key_state::active);
    EXPECT_EQ(state(next.id), key_state::active);
    test_clock += 1;
    EXPECT_EQ(state(old), key_state::deactivated);
    EXPECT_EQ(get(old).ending_at(test_clock).reason, deactivation::rotated);
    EXPECT_EQ(state(next.id), key_state::active);
    EXPECT_EQ(ask(rotation(old, 1)).problem, problem::key_not_active);
    EXPECT_EQ(ask(reactivate_key{old}).problem, problem::key_not_reactivatable);
}

TEST_F(key_life, ends_a_rotation_no_later_than_the_key_itself) {
    auto made = record({"users:read"});
    made.expires_at = test_clock + 100;
    auto const old = add(made);
    ask(rotation(old, 86'400'000));
    EXPECT_EQ(get(old).rotation_ends_at, test_clock + 100);
    auto const other = add({"users:read"});
    ask(rotation(other, 0));
    EXPECT_EQ(state(other), key_state::deactivated);
}

TEST_F(key_life, does_not_come_back_when_its_overlap_has_ended_meanwhile) {
    auto const old = add({"users:read"});
    ask(rotation(old, 1000));
    ask(deactivate_key{.id = old});
    EXPECT_EQ(made_key(ask(reactivate_key{old})).deactivated_at, 0);
    ask(deactivate_key{.id = old});
    test_clock += 1000;
    EXPECT_EQ(ask(reactivate_key{old}).problem, problem::key_not_reactivatable);
}

// ---- who may give what

class key_powers : public key_life {
  protected:
    model::id boss_ = 0, own_ = 0, weak_ = 0, strong_ = 0, elsewhere_ = 0;
    std::vector<model::rate_limit> const own_limits_{{"minute", 60, 60, 0}};

    void SetUp() override {
        key_life::SetUp();
        boss_ = add({"*"});
        auto made = record({"keys:*", "users:read", "posts:*"});
        made.rate_limits = own_limits_;
        made.ip_allowlist = {*model::cidr::parse("10.0.0.0/8")};
        made.expires_at = test_clock + 1'000'000;
        own_ = add(made);
        weak_ = add(modest({"users:read"}));
        strong_ = add({"users:*"});
        made = modest({"users:read"});
        made.project = "other";
        elsewhere_ = add(made);
    }
    // What the caller may give.
    model::key modest(std::initializer_list<std::string_view> scopes) {
        auto made = record(scopes);
        made.rate_limits = own_limits_;
        made.ip_allowlist = {*model::cidr::parse("10.1.0.0/16")};
        made.expires_at = test_clock + 900'000;
        return made;
    }
    problem as_own(command::kind what) { return ask(std::move(what), own_).problem; }
    problem making(void (*change)(model::key&)) {
        auto made = modest({"users:read"});
        change(made);
        return as_own(create_key{made});
    }
    problem changing(change_key what) {
        what.id = what.id == 0 ? weak_ : what.id;
        return as_own(std::move(what));
    }
};

TEST_F(key_powers, make_only_keys_within_their_own) {
    struct row {
        char const* what;
        void (*change)(model::key&);
        bool allowed;
    };
    static constexpr row rows[] = {
        {"the same", [](model::key&) {}, true},
        {"a part of a wildcard", [](model::key& k) { k.scopes.add("posts:write"); }, true},
        {"its own wildcard", [](model::key& k) { k.scopes.add("posts:*"); }, true},
        {"a scope more", [](model::key& k) { k.scopes.add("users:write"); }, false},
        {"a wider wildcard", [](model::key& k) { k.scopes.add("*:read"); }, false},
        {"everything", [](model::key& k) { k.scopes.add("*"); }, false},
        {"another project", [](model::key& k) { k.project = "other"; }, false},
        {"no limits", [](model::key& k) { k.rate_limits.clear(); }, false},
        {"a higher limit", [](model::key& k) { k.rate_limits[0].limit = 61; }, false},
        {"a larger burst", [](model::key& k) { k.rate_limits[0].burst = 61; }, false},
        {"a faster refill", [](model::key& k) { k.rate_limits = {{"minute", 60, 59, 0}}; }, false},
        {"another name and tighter", [](model::key& k) { k.rate_limits = {{"second", 1, 1, 1}}; },
         true},
        {"one more limit", [](model::key& k) { k.rate_limits.push_back({"h", 99, 1, 0}); }, true},
        {"anywhere", [](model::key& k) { k.ip_allowlist.clear(); }, false},
        {"a wider network",
         [](model::key& k) { k.ip_allowlist = {*model::cidr::parse("8.0.0.0/6")}; }, false},
        {"one network more",
         [](model::key& k) { k.ip_allowlist.push_back(*model::cidr::parse("192.0.2.1")); }, false},
        {"for ever", [](model::key& k) { k.expires_at = 0; }, false},
        {"longer", [](model::key& k) { k.expires_at = test_clock + 1'000'001; }, false},
        {"as long", [](model::key& k) { k.expires_at = test_clock + 1'000'000; }, true},
    };
    for (auto const& row : rows)
        EXPECT_EQ(making(row.change), row.allowed ? problem::none : problem::insufficient_scope)
            << row.what;
}

TEST_F(key_powers, change_only_within_their_own) {
    auto const wide = *model::cidr::parse("0.0.0.0/0");
    model::scope_set more;
    more.add("users:write");
    auto const no = problem::insufficient_scope;
    EXPECT_EQ(changing({.name = "x"}), problem::none);
    EXPECT_EQ(changing({.scopes = more}), no);
    EXPECT_EQ(changing({.rate_limits = std::vector<model::rate_limit>{}}), no);
    EXPECT_EQ(changing({.rate_limits = {{{"minute", 61, 60}}}}), no);
    EXPECT_EQ(changing({.ip_allowlist = {{wide}}}), no);
    EXPECT_EQ(changing({.ip_allowlist = std::vector<model::cidr>{}}), no);
    EXPECT_EQ(changing({.expires_at = 0}), no);
    EXPECT_EQ(changing({.expires_at = test_clock + 1'000'001}), no);
    EXPECT_EQ(changing({.expires_at = test_clock + 999'999}), problem::none);
    EXPECT_EQ(changing({.rate_limits = {{{"minute", 6, 60}}}}), problem::none);
    EXPECT_EQ(changing({.id = elsewhere_, .name = "x"}), problem::not_found);
    EXPECT_EQ(changing({.id = strong_, .name = "x"}), no);
}

TEST_F(key_powers, end_at_their_own_limits_allowlist_and_expiry) {
    auto const no = problem::insufficient_scope;
    EXPECT_EQ(changing({.id = own_, .name = "mine"}), problem::none);
    EXPECT_EQ(changing({.id = own_, .rate_limits = {{{"minute", 1, 60}}}}), no);
    EXPECT_EQ(changing({.id = own_, .ip_allowlist = {{*model::cidr::parse("10.0.0.1")}}}), no);
    EXPECT_EQ(changing({.id = own_, .expires_at = test_clock + 5}), no);
    EXPECT_EQ(changing({.id = own_, .rate_limits = own_limits_}), problem::none);
    // A copy of itself would live longer than it does.
    test_clock += 1;
    EXPECT_EQ(as_own(rotation(own_, 0)), no);
}

TEST_F(key_powers, reach_only_keys_that_they_cover) {
    auto const no = problem::insufficient_scope;
    for (auto const& [id, wanted] :
         {std::pair{weak_, problem::none}, std::pair{strong_, no}, std::pair{boss_, no},
          std::pair{elsewhere_, problem::not_found},
          std::pair{model::id{999}, problem::not_found}}) {
        EXPECT_EQ(as_own(deactivate_key{.id = id}), wanted) << id;
        EXPECT_EQ(as_own(reactivate_key{id}), wanted) << id;
        EXPECT_EQ(as_own(rotation(id, 0)), wanted) << id;
    }
}

TEST_F(key_powers, do_not_get_a_stronger_key_by_rotation) {
    // Its scopes are covered, but it may be used from anywhere and for ever.
    auto const id = add({"users:read"});
    EXPECT_EQ(as_own(rotation(id, 0)), problem::insufficient_scope);
    EXPECT_EQ(state(id), key_state::active);
}

TEST_F(key_powers, are_unbounded_with_everything) {
    auto made = record({"*"});
    made.project = "third";
    made.rate_limits.clear();
    EXPECT_EQ(ask(create_key{made}, boss_).problem, problem::none);
    EXPECT_EQ(ask(change_key{.id = elsewhere_, .name = "x"}, boss_).problem, problem::none);
}

TEST_F(key_powers, need_no_scope_to_end_themselves) {
    EXPECT_EQ(ask(deactivate_key{.id = weak_}, weak_, std::nullopt).problem, problem::none);
    EXPECT_EQ(ask(deactivate_key{.id = weak_}, weak_, std::nullopt).problem,
              problem::key_deactivated);
}

// ---- the last key that can manage keys

class last_admin : public key_life {
  protected:
    model::id admin_ = 0;
    void SetUp() override {
        key_life::SetUp();
        admin_ = add({"*"});
        add({"users:*"});
    }
    problem as_admin(command::kind what) { return ask(std::move(what), admin_).problem; }
};

TEST_F(last_admin, is_not_lost_over_http) {
    model::scope_set fewer;
    fewer.add("users:read");
    auto const no = problem::last_admin_key;
    EXPECT_EQ(as_admin(deactivate_key{.id = admin_}), no);
    EXPECT_EQ(as_admin(change_key{.id = admin_, .scopes = fewer}), no);
    EXPECT_EQ(as_admin(change_key{.id = admin_, .expires_at = test_clock + 5}), no);
    EXPECT_EQ(as_admin(change_key{.id = admin_, .not_before = test_clock + 5}), no);
    EXPECT_EQ(as_admin(change_key{.id = admin_, .name = "still"}), problem::none);
    EXPECT_EQ(state(admin_), key_state::active);
}

TEST_F(last_admin, may_go_when_another_is_there) {
    auto made = record({"keys:write"});
    made.not_before = test_clock + 1000;
    auto const other = add(made);
    EXPECT_EQ(as_admin(deactivate_key{.id = admin_}), problem::last_admin_key);
    test_clock += 1000;
    EXPECT_EQ(as_admin(deactivate_key{.id = admin_}), problem::none);
    EXPECT_EQ(ask(deactivate_key{.id = other}, other).problem, problem::last_admin_key);
}

TEST_F(last_admin, goes_when_compromised_or_by_the_command_line) {
    EXPECT_EQ(as_admin(deactivate_key{admin_, deactivation::compromised}), problem::none);
    auto const other = add({"*"});
    EXPECT_EQ(ask(deactivate_key{.id = other}).problem, problem::none);
}

TEST_F(last_admin, is_not_one_that_is_being_rotated_out) {
    auto const next = made_key(ask(rotation(admin_, 1000), admin_)).id;
    EXPECT_EQ(ask(deactivate_key{.id = next}, admin_).problem, problem::last_admin_key);
    EXPECT_EQ(ask(deactivate_key{.id = admin_}, next).problem, problem::none);
}

}  // namespace
}  // namespace latchkey::store
