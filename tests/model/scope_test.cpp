#include "model/scope.hpp"

#include <gtest/gtest.h>

#include <set>

namespace latchkey::model {
namespace {

scope_set set_of(std::initializer_list<std::string_view> names) {
    scope_set set;
    for (auto const name : names) EXPECT_TRUE(set.add(name)) << name;
    return set;
}

bool covers(std::initializer_list<std::string_view> scopes,
            std::initializer_list<std::string_view> required) {
    return set_of(scopes).covers(set_of(required));
}

TEST(scopes, have_one_name_each_and_are_found_by_it) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < scope_count; ++i) {
        auto const each = static_cast<scope>(i);
        EXPECT_TRUE(names.insert(name_of(each)).second);
        EXPECT_EQ(find_scope(name_of(each)), each);
    }
    EXPECT_EQ(names.size(), 27u);
    for (auto const* bad : {"", "users", "users:", ":read", "Users:read", "users:read ",
                            "keys:delete", "**", "events:write:stripe", "*:verify"})
        EXPECT_FALSE(find_scope(bad)) << bad;
}

TEST(scopes, a_star_covers_everything) {
    auto const all = set_of({"*"});
    for (std::size_t i = 0; i < scope_count; ++i) {
        scope_set one;
        one.add(static_cast<scope>(i));
        EXPECT_TRUE(all.covers(one)) << name_of(static_cast<scope>(i));
        EXPECT_TRUE(all.allows(static_cast<scope>(i)));
        if (static_cast<scope>(i) != scope::any) EXPECT_FALSE(one.covers(all));
        EXPECT_TRUE(one.covers(one));
    }
    EXPECT_TRUE(covers({"*"}, {"events:write:stripe"}));
    EXPECT_FALSE(covers(
        {"users:*", "posts:*", "keys:*", "usage:*", "audit:*", "events:*", "*:read", "*:write"},
        {"*"}));
}

TEST(scopes, a_wildcard_of_a_resource_covers_its_scopes) {
    EXPECT_TRUE(covers({"users:*"}, {"users:read", "users:write", "users:*"}));
    EXPECT_FALSE(covers({"users:*"}, {"posts:read"}));
    EXPECT_FALSE(covers({"users:*"}, {"*:read"}));
    EXPECT_TRUE(covers({"keys:*"}, {"keys:read", "keys:write", "keys:verify"}));
    EXPECT_TRUE(covers({"usage:*"}, {"usage:read"}));
    EXPECT_TRUE(covers({"audit:*"}, {"audit:read"}));
}

TEST(scopes, a_wildcard_of_a_kind_covers_that_kind_of_every_resource) {
    EXPECT_TRUE(covers({"*:read"}, {"users:read", "posts:read", "keys:read", "usage:read",
                                    "audit:read", "events:read", "*:read"}));
    EXPECT_TRUE(covers({"*:write"},
                       {"users:write", "posts:write", "keys:write", "events:write", "*:write"}));
    EXPECT_FALSE(covers({"*:read"}, {"users:write"}));
    EXPECT_FALSE(covers({"*:write"}, {"users:read"}));
    EXPECT_FALSE(covers({"*:read"}, {"keys:verify"}));
    EXPECT_FALSE(covers({"*:write"}, {"keys:verify"}));
}

TEST(scopes, to_verify_all_keys_is_in_no_wildcard_but_one) {
    for (auto const covering : {"keys:verify_all", "*"}) {
        EXPECT_TRUE(covers({covering}, {"keys:verify_all", "keys:verify"})) << covering;
        EXPECT_TRUE(set_of({covering}).allows(scope::keys_verify)) << covering;
        EXPECT_TRUE(set_of({covering}).allows(scope::keys_verify_all)) << covering;
    }
    for (auto const other : {"keys:verify", "keys:*", "*:read", "*:write", "keys:read"}) {
        EXPECT_FALSE(covers({other}, {"keys:verify_all"})) << other;
        EXPECT_FALSE(set_of({other}).allows(scope::keys_verify_all)) << other;
    }
    for (auto const other : {"keys:read", "keys:write", "keys:*", "*:read"})
        EXPECT_FALSE(covers({"keys:verify_all"}, {other})) << other;
    auto const narrowed = intersection(set_of({"*"}), set_of({"keys:verify_all"}));
    EXPECT_EQ(narrowed.names(), std::vector<std::string>{"keys:verify_all"});
    EXPECT_EQ(intersection(set_of({"keys:verify_all"}), set_of({"keys:*"})).names(),
              std::vector<std::string>{"keys:verify"});
}

TEST(scopes, of_changes_and_webhooks_have_wildcards_of_both_kinds) {
    EXPECT_TRUE(covers({"changes:*"}, {"changes:read", "changes:*"}));
    EXPECT_TRUE(covers({"webhooks:*"}, {"webhooks:read", "webhooks:write"}));
    EXPECT_TRUE(covers({"*:read"}, {"changes:read", "webhooks:read"}));
    EXPECT_TRUE(covers({"*:write"}, {"webhooks:write"}));
    EXPECT_FALSE(covers({"*:read"}, {"webhooks:write"}));
    EXPECT_FALSE(covers({"webhooks:*"}, {"changes:read"}));
    EXPECT_FALSE(covers({"events:*"}, {"changes:read"}));
}

TEST(scopes, a_wildcard_is_never_covered_by_the_sum_of_its_parts) {
    EXPECT_FALSE(covers({"users:read", "users:write"}, {"users:*"}));
    EXPECT_FALSE(covers({"*:read", "*:write"}, {"users:*"}));
    EXPECT_FALSE(covers({"usage:read"}, {"usage:*"}));
    EXPECT_FALSE(
        covers({"users:read", "posts:read", "keys:read", "usage:read", "audit:read", "events:read"},
               {"*:read"}));
    EXPECT_TRUE(covers({"users:*"}, {"users:*"}));
}

TEST(scopes, events_of_one_source_are_covered_by_all_that_write_events) {
    for (auto const covering :
         {"events:write", "events:*", "*:write", "*", "events:write:stripe"}) {
        EXPECT_TRUE(covers({covering}, {"events:write:stripe"})) << covering;
        EXPECT_TRUE(set_of({covering}).allows_events_of("stripe")) << covering;
    }
    for (auto const other : {"events:write:github", "events:read", "*:read", "users:*"}) {
        EXPECT_FALSE(covers({other}, {"events:write:stripe"})) << other;
        EXPECT_FALSE(set_of({other}).allows_events_of("stripe")) << other;
    }
    EXPECT_FALSE(covers({"events:write:stripe"}, {"events:write"}));
    EXPECT_FALSE(set_of({"events:write:stripe"}).allows(scope::events_write));
}

TEST(scopes, secrets_of_sources_are_managed_only_by_scopes_of_events) {
    for (auto const covering : {"events:manage", "events:*", "*"}) {
        EXPECT_TRUE(covers({covering}, {"events:manage"})) << covering;
        EXPECT_TRUE(set_of({covering}).allows(scope::events_manage)) << covering;
    }
    for (auto const other : {"*:write", "*:read", "keys:*", "keys:write", "events:write",
                             "events:read", "events:write:stripe"}) {
        EXPECT_FALSE(covers({other}, {"events:manage"})) << other;
        EXPECT_FALSE(set_of({other}).allows(scope::events_manage)) << other;
        EXPECT_FALSE(covers({"events:manage"}, {other})) << other;
    }
}

// The bits are part of stored key records.
TEST(scopes, keep_their_bits) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < scope_count; ++i)
        names.push_back(scope_set::of(1u << i, {}).names().at(0));
    EXPECT_EQ(names, (std::vector<std::string>{
                         "users:read",     "users:write",  "posts:read",     "posts:write",
                         "keys:read",      "keys:write",   "keys:verify",    "usage:read",
                         "audit:read",     "events:read",  "events:write",   "*",
                         "users:*",        "posts:*",      "keys:*",         "usage:*",
                         "audit:*",        "events:*",     "*:read",         "*:write",
                         "events:manage",  "changes:read", "changes:*",      "webhooks:read",
                         "webhooks:write", "webhooks:*",   "keys:verify_all"}));
}

TEST(scopes, nothing_covers_only_nothing) {
    EXPECT_TRUE(scope_set{}.empty());
    EXPECT_TRUE(scope_set{}.covers(scope_set{}));
    EXPECT_TRUE(covers({"users:read"}, {}));
    EXPECT_FALSE(covers({}, {"users:read"}));
    EXPECT_FALSE(set_of({"events:write:a"}).empty());
    EXPECT_FALSE(scope_set{}.allows(scope::users_read));
}

TEST(scopes, are_listed_as_they_were_added) {
    auto const set =
        set_of({"events:write:stripe", "users:*", "events:write:github", "users:read", "users:*"});
    EXPECT_EQ(set.names(), (std::vector<std::string>{"users:read", "users:*", "events:write:github",
                                                     "events:write:stripe"}));
    EXPECT_EQ(scope_set::of(set.bits(), {"stripe", "github", "stripe"}), set);
}

TEST(scopes, refuse_invalid_names_and_sources) {
    scope_set set;
    for (auto const* bad :
         {"", "users:delete", "events:write:", "events:write:A", "events:write:1a",
          "events:write:a_b", "events:write:a.b", "events:read:a"})
        EXPECT_FALSE(set.add(bad)) << bad;
    EXPECT_TRUE(set.empty());
    EXPECT_TRUE(is_event_source("a" + std::string(31, '-')));
    EXPECT_FALSE(is_event_source("a" + std::string(32, '-')));
    EXPECT_FALSE(is_event_source("-a"));
}

TEST(scopes, suggest_the_nearest_and_nothing_wider) {
    EXPECT_EQ(unknown_scope_detail("user:read"), "is not a scope: did you mean `users:read`?");
    EXPECT_EQ(unknown_scope_detail("user:*"), "is not a scope: did you mean `users:*`?");
    for (auto const* far : {"", "x", "users:", "users", "admin", "events:write:A"}) {
        auto const detail = unknown_scope_detail(far);
        EXPECT_TRUE(detail.starts_with("is not a scope; scopes are users:read, ")) << detail;
        EXPECT_TRUE(detail.ends_with("events:write:SOURCE")) << detail;
    }
}

std::vector<std::string> both(std::initializer_list<std::string_view> left,
                              std::initializer_list<std::string_view> right) {
    auto const result = intersection(set_of(left), set_of(right));
    EXPECT_EQ(intersection(set_of(right), set_of(left)), result);
    return result.names();
}

TEST(scopes, that_two_sets_share_are_what_both_allow) {
    using names = std::vector<std::string>;
    EXPECT_EQ(both({"*"}, {"*"}), names{"*"});
    EXPECT_EQ(both({"*"}, {"users:*", "users:read"}), names{"users:*"});
    EXPECT_EQ(both({"users:*"}, {"*:read"}), names{"users:read"});
    EXPECT_EQ(both({"users:read", "posts:read"}, {"users:read", "keys:read"}), names{"users:read"});
    EXPECT_EQ(both({"users:read"}, {"users:write"}), names{});
    EXPECT_EQ(both({"*"}, {}), names{});
    EXPECT_EQ(both({"*:write"}, {"events:write:a"}), names{"events:write:a"});
    EXPECT_EQ(both({"events:write:a", "events:write:b"}, {"events:write:b", "events:write:c"}),
              names{"events:write:b"});
    EXPECT_EQ(both({"events:write", "events:write:a"}, {"*:write"}), names{"events:write"});
    // `events:manage` is not in `*:write`.
    EXPECT_EQ(both({"events:*"}, {"*:write"}), names{"events:write"});
}

// Whatever the sets, one scope is allowed by the result exactly where both allow it.
TEST(scopes, that_two_sets_share_allow_no_other_scope) {
    std::uint32_t seed = 1;
    for (int round = 0; round < 2000; ++round) {
        auto const next = [&] { return seed = seed * 1664525 + 1013904223; };
        auto const left = scope_set::of(next() & next() & next(), {});
        auto const right = scope_set::of(next() & next(), {});
        auto const result = intersection(left, right);
        for (std::size_t i = 0; i < scope_count; ++i) {
            auto const each = static_cast<scope>(i);
            EXPECT_EQ(result.allows(each), left.allows(each) && right.allows(each));
        }
        EXPECT_TRUE(left.covers(result) && right.covers(result));
    }
}

TEST(scopes, ignore_unknown_bits) {
    EXPECT_EQ(scope_set::of(0xffffffff, {}).bits(), (1u << scope_count) - 1);
}

TEST(scopes, bound_the_number_of_sources) {
    scope_set set;
    for (std::size_t i = 0; i < scope_set::sources_max; ++i)
        EXPECT_TRUE(set.add("events:write:s" + std::to_string(i)));
    EXPECT_FALSE(set.add("events:write:one-more"));
    EXPECT_TRUE(set.add("events:write:s3"));
    EXPECT_EQ(set.sources().size(), scope_set::sources_max);
}

}  // namespace
}  // namespace latchkey::model
