// The life of keys: grants, states by a clock that the test moves, rotation.
#include <algorithm>

#include "../raw_records.hpp"
#include "base/limits.hpp"
#include "domain/audit/audit_lists.hpp"
#include "domain/audit/verify_audit.hpp"

namespace latchkey::domain {
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
        expect_sound(*store_);
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

    outcome ask(command::any_action action, model::id caller = 0,
                std::optional<scope> required_scope = scope::keys_write) {
        return one(
            *store_,
            {.action = std::move(action), .caller = caller, .required_scope = required_scope});
    }
    model::key record(std::initializer_list<std::string_view> scopes) {
        return key_number(++last_, scopes);
    }
    model::id add(model::key draft) { return get_key(ask(create_key{std::move(draft)})).id; }
    model::id add(std::initializer_list<std::string_view> scopes) { return add(record(scopes)); }
    model::key get(model::id id) {
        snapshot seen(*store_);
        seen.renew();
        return seen.key(id).value_or(model::key{});
    }
    std::uint64_t sessions_generation(model::id id) {
        snapshot seen(*store_);
        seen.renew();
        return seen.sessions_generation(id);
    }
    key_state state(model::id id) { return get(id).state_at(test_clock); }
    rotate_key rotation(model::id id, std::int64_t overlap_ms) {
        auto const draft = key_number(++last_);
        return {.id = id,
                .digest = draft.digest,
                .start = draft.start,
                .last4 = draft.last4,
                .overlap_ms = overlap_ms};
    }
};

TEST_F(key_life, changes_only_the_members_of_a_patch) {
    auto const id = add({"users:read"});
    auto const original = get(id);
    auto const update = get_key(ask(change_key{.id = id,
                                               .name = "new",
                                               .environment = model::environment::production,
                                               .expires_at = test_clock + 1000,
                                               .metadata = {{"team", "a"}, {"gone", {}}}}));
    EXPECT_EQ(update.name, "new");
    EXPECT_EQ(update.environment, model::environment::production);
    EXPECT_EQ(update.expires_at, test_clock + 1000);
    EXPECT_EQ(update.metadata, (std::map<std::string, std::string>{{"team", "a"}}));
    EXPECT_EQ(update.scopes, original.scopes);
    EXPECT_EQ(update.created_at, original.created_at);
    EXPECT_EQ(get(id).name, "new");
    EXPECT_EQ(get_key(ask(change_key{.id = id, .clear_metadata = true, .metadata = {{"b", "c"}}}))
                  .metadata,
              (std::map<std::string, std::string>{{"b", "c"}}));
    EXPECT_TRUE(get_key(ask(change_key{.id = id, .clear_metadata = true})).metadata.empty());
}

// Handlers check tighter bounds; a record that could not be decoded again is never written.
TEST_F(key_life, refuses_records_beyond_the_encoding) {
    auto const creating = [&](void (*change)(model::key&)) {
        auto draft = record({"users:read"});
        change(draft);
        return ask(create_key{draft}).problem;
    };
    EXPECT_EQ(creating([](model::key&) {}), problem::none);
    EXPECT_EQ(creating([](model::key& k) { k.start += 'E'; }), problem::internal_error);
    EXPECT_EQ(creating([](model::key& k) { k.last4 += 'a'; }), problem::internal_error);
    EXPECT_EQ(creating([](model::key& k) { k.name.assign(model::metadata_bytes_max + 1, 'n'); }),
              problem::internal_error);
    EXPECT_EQ(creating([](model::key& k) { k.project = "No project"; }), problem::internal_error);
}

TEST_F(key_life, keeps_the_slots_of_limits_by_name) {
    auto const id = add({"users:read"});
    auto const change = [&](std::vector<model::rate_limit> limits) {
        get_key(ask(change_key{.id = id, .rate_limits = std::move(limits)}));
        return get(id);
    };
    EXPECT_EQ(get(id).limit_generations, (std::vector<std::uint64_t>{0, 0}));
    auto const update = change({{"day", 5, 86400}, {"hour", 7, 3600}});
    EXPECT_EQ(update.limit_slots, (std::vector<std::uint8_t>{0, 1}));
    auto const first = update.limit_generations.at(0);
    EXPECT_GT(first, 0u) << "a slot that another limit had is begun anew";
    EXPECT_EQ(update.limit_generations.at(1), 0u);
    auto const again = change({{"hour", 9, 3600}, {"minute", 1, 60}});
    EXPECT_EQ(again.limit_slots, (std::vector<std::uint8_t>{1, 0}));
    EXPECT_EQ(again.limit_generations.at(0), 0u);
    EXPECT_GT(again.limit_generations.at(1), first);
    // All eight at once, some with names that existed before.
    std::vector<model::rate_limit> eight;
    for (char name = 'a'; name < 'i'; ++name) eight.push_back({std::string(1, name), 1, 60});
    auto const filled = change(eight);
    for (auto& each : eight) each.name += "2";
    auto const replaced = change(eight);
    for (std::size_t i = 0; i < 8; ++i)
        EXPECT_GT(replaced.limit_generations.at(i), filled.limit_generations.at(i));
    auto const successor = get_key(ask(rotation(id, 0)));
    EXPECT_EQ(get(successor.id).limit_slots, replaced.limit_slots);
    EXPECT_EQ(get(successor.id).limit_generations, std::vector<std::uint64_t>(8, 0));
}

// Every id that is assigned has a token bucket, or its key would be refused for ever.
TEST_F(key_life, has_no_ids_beyond_the_buckets) {
    auto const first = add({"users:read"});
    put_counters(*store_, [](counters& all) { all.last_key = base::limits::key_id_max - 1; });

    EXPECT_EQ(add({"users:read"}), (1 << 26) - 1);
    auto const one_more = ask(create_key{record({"users:read"})});
    EXPECT_EQ(one_more.problem, problem::storage_full);
    EXPECT_NE(one_more.detail.find("67108863"), std::string::npos) << one_more.detail;
    auto const rotated = ask(rotation(first, 0));
    EXPECT_EQ(rotated.problem, problem::storage_full);
    EXPECT_EQ(rotated.detail, one_more.detail);
    EXPECT_EQ(get(first).replaced_by, 0);
    EXPECT_EQ(get_key(ask(change_key{.id = first, .name = "new"})).name, "new");
}

TEST_F(key_life, reports_all_unchangeable_members_at_once) {
    auto const id = add({"users:read"});
    auto const answer = ask(change_key{.id = id,
                                       .expires_at = test_clock - 1,
                                       .expected = {{"id", std::int64_t{id}},
                                                    {"project", "other"},
                                                    {"state", "active"},
                                                    {"replaces", std::int64_t{3}}}});
    EXPECT_EQ(answer.problem, problem::validation_failed);
    std::vector<std::string> pointers;
    for (auto const& fault : answer.faults) pointers.push_back(fault.location);
    EXPECT_EQ(pointers, (std::vector<std::string>{"/project", "/replaces", "/expires_at"}));
}

TEST_F(key_life, requires_an_expiry_after_its_begin_and_in_the_future) {
    auto const id = add({"users:read"});
    auto const faulty_member = [&](change_key action) {
        action.id = id;
        auto const answer = ask(std::move(action));
        return answer.faults.empty() ? std::string() : answer.faults[0].location;
    };
    auto const now = test_clock;
    EXPECT_EQ(faulty_member({.expires_at = now}), "/expires_at");
    EXPECT_EQ(faulty_member({.expires_at = now + 1}), "");
    EXPECT_EQ(faulty_member({.not_before = now + 5, .expires_at = now + 5}), "/expires_at");
    EXPECT_EQ(faulty_member({.not_before = now + 5, .expires_at = now + 6}), "");
    EXPECT_EQ(faulty_member({.not_before = now + 6}), "/not_before");
}

// Members arrive in several PATCHes; the bound is that of all together.
TEST_F(key_life, bounds_the_metadata_across_patches) {
    auto const id = add({"users:read"});
    auto const adding = [&](std::string name, std::size_t bytes) {
        return ask(change_key{.id = id, .metadata = {{name, std::string(bytes, 'v')}}}).problem;
    };
    EXPECT_EQ(adding("a", 10'000), problem::none);
    EXPECT_EQ(adding("b", model::metadata_bytes_max - 10'001), problem::validation_failed);
    EXPECT_EQ(adding("b", model::metadata_bytes_max - 10'002), problem::none);
    EXPECT_EQ(adding("a", 1), problem::none);
    for (std::size_t i = 2; i < model::metadata_members_max; ++i)
        EXPECT_EQ(adding("c" + std::to_string(i), 0), problem::none);
    EXPECT_EQ(adding("d", 0), problem::validation_failed);
}

TEST_F(key_life, passes_through_its_states_by_the_clock) {
    auto draft = record({"users:read"});
    draft.not_before = test_clock + 100;
    draft.expires_at = test_clock + 200;
    auto const id = add(draft);
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

// Recorded times never go back, whatever the clock does.
TEST_F(key_life, ignores_a_clock_that_goes_back) {
    auto const first = get_key(ask(create_key{record({"users:read"})}));
    test_clock -= 1000;
    auto const second = get_key(ask(create_key{record({"users:read"})}));
    EXPECT_EQ(second.created_at, first.created_at);
    EXPECT_EQ(get_key(ask(deactivate_key{.id = first.id})).deactivated_at, first.created_at);
    reopen();
    EXPECT_EQ(get_key(ask(create_key{record({"users:read"})})).created_at, first.created_at);
    test_clock += 1001;
    EXPECT_EQ(get_key(ask(create_key{record({"users:read"})})).created_at, first.created_at + 1);
}

TEST_F(key_life, can_be_reactivated_unless_rotated_or_compromised) {
    auto const id = add({"users:read"});
    EXPECT_EQ(get_key(ask(reactivate_key{id})).id, id);
    auto const deactivated = get_key(ask(deactivate_key{.id = id}));
    EXPECT_EQ(deactivated.deactivation_reason, deactivation::manual);
    test_clock += 5;
    EXPECT_EQ(get_key(ask(deactivate_key{.id = id})).deactivated_at, deactivated.deactivated_at);
    EXPECT_EQ(get_key(ask(reactivate_key{id})).deactivated_at, 0);
    EXPECT_EQ(state(id), key_state::active);
    ask(deactivate_key{.id = id});
    auto const worse = get_key(ask(deactivate_key{id, deactivation::compromised}));
    EXPECT_EQ(worse.deactivation_reason, deactivation::compromised);
    EXPECT_EQ(get(id).deactivated_at, test_clock);
    test_clock += 5;
    auto const rotated = add({"users:read"});
    ask(rotation(rotated, 10));
    test_clock += 20;
    auto const later = get_key(ask(deactivate_key{rotated, deactivation::compromised}));
    EXPECT_EQ(later.deactivated_at, test_clock - 10) << "since its rotation ended";
    ask(deactivate_key{.id = id});
    EXPECT_EQ(get(id).deactivation_reason, deactivation::compromised);
    EXPECT_EQ(ask(reactivate_key{id}).problem, problem::key_not_reactivatable);
}

TEST_F(key_life, rotates_with_an_overlap_across_a_restart) {
    auto draft = record({"users:read", "posts:*"});
    draft.expires_at = test_clock + 10'000'000;
    draft.metadata = {{"a", "b"}};
    auto const old = add(draft);
    test_clock += 1'000'000;
    auto const next = get_key(ask(rotation(old, 60'000)));
    EXPECT_EQ(next.replaces, old);
    EXPECT_EQ(next.created_by, 0);
    EXPECT_EQ(next.scopes, draft.scopes);
    EXPECT_EQ(next.metadata, draft.metadata);
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

// The lifetime is the time between the begin of validity and the expiry, and it starts now.
TEST_F(key_life, rotates_a_key_that_began_late) {
    auto draft = record({"users:read"});
    draft.not_before = test_clock + 1'000'000;
    draft.expires_at = test_clock + 10'000'000;
    auto const old = add(draft);
    EXPECT_EQ(ask(rotation(old, 0)).problem, problem::key_not_active);
    test_clock += 3'000'000;
    auto const next = get_key(ask(rotation(old, 60'000)));
    EXPECT_EQ(next.created_at, test_clock);
    EXPECT_EQ(next.not_before, 0);
    EXPECT_EQ(next.expires_at, test_clock + 9'000'000);
    EXPECT_EQ(state(next.id), key_state::active);
    // Now the new key's own begin counts.
    test_clock += 4'000'000;
    auto const boss = add({"*"});
    auto const last = get_key(ask(rotation(next.id, 0), boss));
    EXPECT_EQ(last.created_by, boss);
    EXPECT_EQ(last.expires_at, test_clock + 9'000'000);
    auto const unlimited = add({"users:read"});
    EXPECT_EQ(get_key(ask(rotation(unlimited, 0))).expires_at, 0);
}

TEST_F(key_life, ends_a_rotation_no_later_than_the_key_itself) {
    auto draft = record({"users:read"});
    draft.expires_at = test_clock + 100;
    auto const old = add(draft);
    ask(rotation(old, 86'400'000));
    EXPECT_EQ(get(old).rotation_ends_at, test_clock + 100);
    auto const other = add({"users:read"});
    ask(rotation(other, 0));
    EXPECT_EQ(state(other), key_state::deactivated);
}

TEST_F(key_life, cannot_be_reactivated_after_its_overlap) {
    auto const old = add({"users:read"});
    ask(rotation(old, 1000));
    ask(deactivate_key{.id = old});
    EXPECT_EQ(get_key(ask(reactivate_key{old})).deactivated_at, 0);
    ask(deactivate_key{.id = old});
    test_clock += 1000;
    EXPECT_EQ(ask(reactivate_key{old}).problem, problem::key_not_reactivatable);
}

// ---- grants

class key_powers : public key_life {
  protected:
    model::id root_ = 0, manager_ = 0, weak_ = 0, strong_ = 0, other_project_ = 0;
    std::vector<model::rate_limit> const own_limits_{{"minute", 60, 60, 0}};

    void SetUp() override {
        key_life::SetUp();
        root_ = add({"*"});
        auto draft = record({"keys:*", "users:read", "posts:*"});
        draft.rate_limits = own_limits_;
        draft.ip_allowlist = {*model::cidr::parse("10.0.0.0/8")};
        draft.expires_at = test_clock + 1'000'000;
        manager_ = add(draft);
        weak_ = add(restricted({"users:read"}));
        strong_ = add({"users:*"});
        draft = restricted({"users:read"});
        draft.project = "other";
        other_project_ = add(draft);
    }
    // What the caller may grant.
    model::key restricted(std::initializer_list<std::string_view> scopes) {
        auto draft = record(scopes);
        draft.rate_limits = own_limits_;
        draft.ip_allowlist = {*model::cidr::parse("10.1.0.0/16")};
        draft.expires_at = test_clock + 900'000;
        return draft;
    }
    problem as_manager(command::any_action action) {
        return ask(std::move(action), manager_).problem;
    }
    problem creating(void (*change)(model::key&)) {
        auto draft = restricted({"users:read"});
        change(draft);
        return as_manager(create_key{draft});
    }
    problem changing(change_key action) {
        action.id = action.id == 0 ? weak_ : action.id;
        return as_manager(std::move(action));
    }
};

TEST_F(key_powers, create_only_keys_within_their_own) {
    struct row {
        char const* name;
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
        {"a wider network that begins alike",
         [](model::key& k) { k.ip_allowlist = {*model::cidr::parse("10.0.0.0/7")}; }, false},
        {"one network more",
         [](model::key& k) { k.ip_allowlist.push_back(*model::cidr::parse("192.0.2.1")); }, false},
        {"for ever", [](model::key& k) { k.expires_at = 0; }, false},
        {"longer", [](model::key& k) { k.expires_at = test_clock + 1'000'001; }, false},
        {"as long", [](model::key& k) { k.expires_at = test_clock + 1'000'000; }, true},
    };
    for (auto const& row : rows)
        EXPECT_EQ(creating(row.change), row.allowed ? problem::none : problem::insufficient_scope)
            << row.name;
}

TEST_F(key_powers, without_limits_do_not_create_keys_without_limits) {
    auto draft = record({"keys:*", "users:read"});
    draft.rate_limits.clear();
    auto const unlimited = add(draft);
    auto requested = record({"users:read"});
    EXPECT_EQ(ask(create_key{requested}, unlimited).problem, problem::none) << "with any limits";
    requested = record({"users:read"});
    requested.rate_limits.clear();
    EXPECT_EQ(ask(create_key{requested}, unlimited).problem, problem::insufficient_scope);
    EXPECT_EQ(ask(create_key{requested}, root_).problem, problem::none);
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
    EXPECT_EQ(changing({.id = other_project_, .name = "x"}), problem::not_found);
    EXPECT_EQ(changing({.id = strong_, .name = "x"}), no);
}

TEST_F(key_powers, end_at_their_own_limits_allowlist_and_expiry) {
    auto const no = problem::insufficient_scope;
    EXPECT_EQ(changing({.id = manager_, .name = "mine"}), problem::none);
    EXPECT_EQ(changing({.id = manager_, .rate_limits = {{{"minute", 1, 60}}}}), no);
    EXPECT_EQ(changing({.id = manager_, .ip_allowlist = {{*model::cidr::parse("10.0.0.1")}}}), no);
    EXPECT_EQ(changing({.id = manager_, .expires_at = test_clock + 5}), no);
    EXPECT_EQ(changing({.id = manager_, .rate_limits = own_limits_}), problem::none);
    // A copy of itself would expire later.
    test_clock += 1;
    EXPECT_EQ(as_manager(rotation(manager_, 0)), no);
}

TEST_F(key_powers, reach_only_keys_that_they_cover) {
    auto const no = problem::insufficient_scope;
    for (auto const& [id, requested] :
         {std::pair{weak_, problem::none}, std::pair{strong_, no}, std::pair{root_, no},
          std::pair{other_project_, problem::not_found},
          std::pair{model::id{999}, problem::not_found}}) {
        EXPECT_EQ(as_manager(deactivate_key{.id = id}), requested) << id;
        EXPECT_EQ(as_manager(reactivate_key{id}), requested) << id;
        EXPECT_EQ(as_manager(rotation(id, 0)), requested) << id;
    }
}

TEST_F(key_powers, do_not_get_a_stronger_key_by_rotation) {
    // Its scopes are covered, but it has no allowlist and no expiry.
    auto const id = add({"users:read"});
    EXPECT_EQ(as_manager(rotation(id, 0)), problem::insufficient_scope);
    EXPECT_EQ(state(id), key_state::active);
}

TEST_F(key_powers, are_unbounded_with_the_scope_for_everything) {
    auto draft = record({"*"});
    draft.project = "third";
    draft.rate_limits.clear();
    EXPECT_EQ(ask(create_key{draft}, root_).problem, problem::none);
    EXPECT_EQ(ask(change_key{.id = other_project_, .name = "x"}, root_).problem, problem::none);
}

// A caller is read once for several commands, until its key changes.
TEST_F(key_powers, end_in_the_middle_of_a_group) {
    auto const command_of = [](model::id caller, std::optional<scope> required_scope,
                               command::any_action action) {
        return command{
            .action = std::move(action), .caller = caller, .required_scope = required_scope};
    };
    auto const problems = [&](std::vector<command> group) {
        std::vector<problem> all;
        for (auto const& answer : apply(*store_, std::move(group)).value())
            all.push_back(answer.problem);
        return all;
    };
    using list = std::vector<problem>;
    auto const none = problem::none, deactivated = problem::key_deactivated;
    auto const write = scope::keys_write;
    EXPECT_EQ(problems({command_of(manager_, write, create_key{restricted({"users:read"})}),
                        command_of(manager_, write, deactivate_key{.id = manager_}),
                        command_of(manager_, write, create_key{restricted({"users:read"})})}),
              (list{none, none, deactivated}));
    EXPECT_EQ(problems({command_of(weak_, std::nullopt, deactivate_key{.id = weak_}),
                        command_of(weak_, std::nullopt, deactivate_key{.id = weak_})}),
              (list{none, deactivated}));
    // Between them commands of the command line, which has no caller to check.
    EXPECT_EQ(
        problems({command_of(strong_, scope::users_write, create_user{"Ann", "ann@example.org"}),
                  command_of(0, std::nullopt, deactivate_key{.id = strong_}),
                  command_of(strong_, scope::users_write, create_user{"Bob", "bob@example.org"})}),
        (list{none, none, deactivated}));
    model::scope_set fewer;
    fewer.add("users:read");
    add({"*"});
    EXPECT_EQ(problems({command_of(root_, write, change_key{.id = root_, .scopes = fewer}),
                        command_of(root_, write, change_key{.id = root_, .name = "still"})}),
              (list{none, problem::insufficient_scope}));
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
    problem as_admin(command::any_action action) { return ask(std::move(action), admin_).problem; }
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
    // Nor earlier than before.
    ASSERT_EQ(ask(change_key{.id = admin_, .expires_at = test_clock + 10}).problem, problem::none);
    EXPECT_EQ(as_admin(change_key{.id = admin_, .expires_at = test_clock + 9}), no);
    EXPECT_EQ(as_admin(change_key{.id = admin_, .expires_at = test_clock + 11}), problem::none);
}

TEST_F(last_admin, may_be_deactivated_if_another_exists) {
    auto draft = record({"keys:write"});
    draft.not_before = test_clock + 1000;
    auto const other = add(draft);
    EXPECT_EQ(as_admin(deactivate_key{.id = admin_}), problem::last_admin_key);
    test_clock += 1000;
    EXPECT_EQ(as_admin(deactivate_key{.id = admin_}), problem::none);
    EXPECT_EQ(ask(deactivate_key{.id = other}, other).problem, problem::last_admin_key);
}

TEST_F(last_admin, is_deactivated_when_compromised_or_by_the_command_line) {
    EXPECT_EQ(as_admin(deactivate_key{admin_, deactivation::compromised}), problem::none);
    auto const other = add({"*"});
    model::scope_set fewer;
    fewer.add("users:read");
    EXPECT_EQ(ask(change_key{.id = other, .scopes = fewer}).problem, problem::none);
    EXPECT_EQ(ask(deactivate_key{.id = other}).problem, problem::none);
}

// Without a key that manages keys, keys that could not either may still be deactivated.
TEST_F(last_admin, is_none_that_manages_no_keys) {
    ASSERT_EQ(ask(deactivate_key{.id = admin_}).problem, problem::none);
    auto const user = add({"users:*"});
    EXPECT_EQ(ask(deactivate_key{.id = user}, user, std::nullopt).problem, problem::none);
}

TEST_F(last_admin, is_not_one_that_is_being_rotated_out) {
    auto const next = get_key(ask(rotation(admin_, 1000), admin_)).id;
    EXPECT_EQ(ask(deactivate_key{.id = next}, admin_).problem, problem::last_admin_key);
    EXPECT_EQ(ask(deactivate_key{.id = admin_}, next).problem, problem::none);
}

// Any key may end its sessions; it must not fill the audit log by that.
TEST_F(key_life, ends_of_its_sessions_are_audited_once_a_minute) {
    auto const id = add({"users:read"});
    auto const entries = [&] {
        std::size_t count = 0;
        snapshot seen(*store_);
        seen.renew();
        audit_entries(seen, {.project = "default"}, {.limit = 100}, [&](audit_entry const& entry) {
            count += entry.action == audit_action::key_end_sessions ? 1 : 0;
        });
        return count;
    };
    test_clock += 60'000 - test_clock % 60'000;
    for (std::size_t minute = 1; minute <= 3; ++minute, test_clock += 30'000)
        for (auto const step : {0, 1, 29'999, 0}) {
            test_clock += step;
            EXPECT_EQ(ask(end_sessions{id}, id, std::nullopt).problem, problem::none);
            EXPECT_EQ(entries(), minute);
        }
}

TEST_F(key_life, no_generation_of_its_sessions_comes_twice) {
    auto const id = add({"*"}), other = add({"*"});
    std::uint64_t last = 0;
    EXPECT_EQ(sessions_generation(id), last);
    for (auto const step : {0, 0, 60'000, -3'600'000, 0, 1}) {
        test_clock += step;
        EXPECT_EQ(ask(end_sessions{id}).problem, problem::none);
        EXPECT_GT(sessions_generation(id), last);
        last = sessions_generation(id);
    }
    test_clock = static_cast<std::int64_t>(last) + 1000;  // past what the numbers ran ahead
    EXPECT_EQ(ask(end_sessions{id}).problem, problem::none);
    EXPECT_EQ(sessions_generation(id), last + 1000)
        << "a time, so that none comes back with a backup";
    EXPECT_EQ(sessions_generation(other), 0u);
}

}  // namespace
}  // namespace latchkey::domain
